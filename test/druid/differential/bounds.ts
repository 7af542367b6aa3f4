/**
 * The many ways to bound the time of rows in SQL. How the condition is built is a form's own; how each instant in it is
 * written changes from request to request.
 */
import type { Random } from '../../fidelity/random.ts'
import type { Span } from '../../fidelity/walks.ts'

export interface Parameter {
  readonly type: string
  readonly value: string | number
}

/** A piece of SQL and its parameters. */
export interface Piece {
  readonly text: string
  readonly parameters: readonly Parameter[]
}

/** An instant in SQL, in a session of this zone. */
type WriteInstant = (at: number, session: Session) => Piece

export interface Session {
  readonly zone: string
  readonly random: Random
}

/** A condition that is true in the span. */
type WriteBounds = (span: Span, instant: (at: number) => Piece) => Piece

const plain = (text: string): Piece => ({ text, parameters: [] })

/** Joins pieces with text: piece`a ${x} b`. */
function piece(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Piece {
  const text = texts.map((part, i) => part + (pieces[i]?.text ?? '')).join('')
  return { text, parameters: pieces.flatMap(({ parameters }) => parameters) }
}

export const boundStyles = {
  halfOpen: (span, at) => piece`__time >= ${at(span.from)} AND __time < ${at(span.to)}`,
  bracketed: (span, at) => piece`(__time >= ${at(span.from)} AND (__time < ${at(span.to)}))`,
  mirrored: (span, at) => piece`${at(span.to)} > __time AND ${at(span.from)} <= __time`,
  closed: (span, at) => piece`__time > ${at(span.from - 1)} AND __time <= ${at(span.to - 1)}`,
  between: (span, at) => piece`__time BETWEEN ${at(span.from)} AND ${at(span.to - 1)}`,
  quoted: (span, at) => piece`"__time" >= ${at(span.from)} AND "__time" < ${at(span.to)}`,
  interval: ({ from, to }) => plain(`TIME_IN_INTERVAL(__time, '${iso(from)}/${iso(to)}')`),
  doubled: (span, at) =>
    piece`__time >= ${at(span.from)} AND __time >= ${at(span.from - 5000)} AND __time < ${at(span.to)}`,
} satisfies Record<string, WriteBounds>

/** Spans as one condition; one of them alone comes twice, so that the condition is always built alike. */
export function anyOf(spans: readonly Span[], bounds: WriteBounds, instant: (at: number) => Piece): Piece {
  const all = spans.length === 1 ? [spans[0]!, spans[0]!] : spans
  const [first, ...others] = all.map((span) => piece`(${bounds(span, instant)})`)
  const joined = others.reduce((left, right) => piece`${left} OR ${right}`, first!)
  return piece`(${joined})`
}

const iso = (at: number): string => new Date(at).toISOString()

/** The local time in the zone: `2026-03-08 03:00:00.000`. Undefined where that occurs twice. */
function localText(at: number, zone: string): string | undefined {
  const shown = clockText(at, zone)
  const isTwice = [-3_600_000, 3_600_000].some((change) => clockText(at + change, zone) === shown)
  return isTwice ? undefined : shown
}

const formats = new Map<string, Intl.DateTimeFormat>()

function clockText(at: number, zone: string): string {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('sv-SE', {
      timeZone: zone,
      ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
      ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 },
    })
  formats.set(zone, format)
  return format.format(at).replace(',', '.')
}

const millis = (at: number): Piece => plain(`MILLIS_TO_TIMESTAMP(${at})`)

/** The local time in the zone, if it is unique; otherwise as a number. */
const local =
  (write: (text: string) => Piece): WriteInstant =>
  (at, { zone }) => {
    const text = localText(at, zone)
    return text === undefined ? millis(at) : write(text)
  }

const shortened = (text: string): string => text.replace(/\.000$/, '')

const parameter = (text: string, type: string, value: string | number): Piece => ({
  text,
  parameters: [{ type, value }],
})

const timestamp = local((text) => plain(`TIMESTAMP '${shortened(text)}'`))

export const instantStyles = {
  timestamp,
  longTimestamp: local((text) => plain(`TIMESTAMP '${text}'`)),
  text: local((text) => plain(`'${shortened(text)}'`)),
  /** As SQLAlchemy writes it. */
  microText: local((text) => plain(`'${text}000'`)),
  microTimestamp: local((text) => plain(`TIMESTAMP '${text}999'`)),
  nanoText: (at) => plain(`'${iso(at).replace('Z', '999999Z')}'`),
  isoText: (at) => plain(`'${iso(at)}'`),
  millis,
  parsed: (at) => plain(`TIME_PARSE('${iso(at)}')`),
  cast: local((text) => plain(`CAST('${shortened(text)}' AS TIMESTAMP)`)),
  plusHours: (at, session) => {
    const { text } = timestamp(at - 7_200_000, session)
    return plain(`${text} + INTERVAL '2' HOUR`)
  },
  minusMinutes: (at, session) => {
    const { text } = timestamp(at + 300_000, session)
    return plain(`(${text} - INTERVAL '5' MINUTE)`)
  },
  added: (at, session) => {
    const { text } = timestamp(at + 60_000, session)
    return plain(`TIMESTAMPADD(MINUTE, -1, ${text})`)
  },
  shifted: (at) => plain(`TIME_SHIFT(MILLIS_TO_TIMESTAMP(${at - 1_800_000}), 'PT30M', 1)`),
  millisParameter: (at) => parameter('MILLIS_TO_TIMESTAMP(?)', 'BIGINT', at),
  textParameter: (at) => parameter('?', 'VARCHAR', iso(at)),
} satisfies Record<string, WriteInstant>

export type BoundStyle = keyof typeof boundStyles
export type InstantStyle = keyof typeof instantStyles
