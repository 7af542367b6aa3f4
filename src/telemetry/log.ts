/**
 * Logs: one line per event, as JSON or, for people at a terminal, as text. Values are bounded and free of credentials. A
 * line that the reader is too slow for is dropped and counted: logging never holds a request.
 */
import type { Clock } from '../core/clock.ts'
import { withoutSecrets } from '../core/secrets.ts'
import { shorten } from '../core/text.ts'

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]
export type LogFormat = 'json' | 'text'

export type LogValue = string | number | boolean | undefined
export type LogFields = Readonly<Record<string, LogValue>>

export interface LogOptions {
  readonly clock: Clock
  /** Called for every line: a reload may change it. */
  readonly level: () => LogLevel
  readonly format: () => LogFormat
  /** Takes a whole line with its end; false where it was not taken. */
  readonly write: (line: string) => boolean
}

const maxValueChars = 2048
const rank: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 }

export class Log {
  readonly #options: LogOptions
  /** The last state logged per topic; see `change`. */
  readonly #states = new Map<string, string>()
  #dropped = 0

  constructor(options: LogOptions) {
    this.#options = options
  }

  /** Lines that the stream did not accept. */
  get dropped(): number {
    return this.#dropped
  }

  isOn(level: LogLevel): boolean {
    return level !== 'silent' && rank[level] >= rank[this.#options.level()]
  }

  line(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (!this.isOn(level)) return
    const time = new Date(this.#options.clock.now()).toISOString()
    const text = this.#options.format() === 'json' ? jsonLine : textLine
    const isTaken = this.#options.write(text({ time, level, message: clean(message), fields }))
    if (!isTaken) this.#dropped++
  }

  /**
   * Logs the state of a topic only when it differs from the last one. Topics are few and named by us. The first state
   * is logged only where it is not the good one.
   */
  change(
    topic: string,
    state: { readonly is: string; readonly isGood: boolean },
    fields: LogFields = {},
  ): void {
    const last = this.#states.get(topic)
    if (last === state.is) return
    this.#states.set(topic, state.is)
    if (last === undefined && state.isGood) return
    this.line(state.isGood ? 'info' : 'warn', `${topic}: ${state.is}`, fields)
  }
}

interface Line {
  readonly time: string
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

const clean = (value: string): string => shorten(withoutSecrets(value), maxValueChars)

function jsonLine({ time, level, message, fields }: Line): string {
  const safe: Record<string, LogValue> = { time, level, message }
  for (const [name, value] of Object.entries(fields)) {
    safe[name] = typeof value === 'string' ? clean(value) : value
  }
  return `${JSON.stringify(safe)}\n`
}

function textLine({ time, level, message, fields }: Line): string {
  let text = `${time.slice(11, 23)} ${level.padEnd(5)} ${onOneLine(message)}`
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) text += ` ${name}=${typeof value === 'string' ? quoted(clean(value)) : value}`
  }
  return `${text}\n`
}

/** A client's text must not look like a line of its own, nor move a terminal's cursor. */
const quoted = (text: string): string => (/^[\w./:+-]+$/.test(text) ? text : onOneLine(JSON.stringify(text)))

const onOneLine = (text: string): string =>
  text.replace(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Puts the warnings of Node itself into the log; by default Node prints them in a form of its own. */
export function logWarnings(log: Pick<Log, 'change'>): void {
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) =>
    log.change('warning of Node', { is: `${name}: ${message}`, isGood: false }),
  )
}

/** The most bytes that a stream buffers before lines are dropped. */
const maxWaitingBytes = 1024 * 1024

/** Lines to a stream such as stderr; an end of it is no reason to end. */
export function toStream(stream: NodeJS.WritableStream): (line: string) => boolean {
  stream.on('error', () => {})
  return (line) => {
    if (!stream.writable || (stream as { writableLength?: number }).writableLength! > maxWaitingBytes)
      return false
    stream.write(line)
    return true
  }
}
