/** The process as commands see it: its streams, its terminal, its signals. */
import { createInterface } from 'node:readline/promises'
import { MessageChannel } from 'node:worker_threads'
import { systemClock } from '../core/clock.ts'
import type { CommandIo } from './command.ts'

const { stdin, stdout, stderr, env } = process

export const processIo: CommandIo = {
  env,
  clock: systemClock,
  out: (text) => void stdout.write(text),
  err: (text) => void stderr.write(text),
  isErrTerminal: stderr.isTTY === true,
  hasUtf8: /utf-?8/i.test(env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''),
  readInput,
  drained: () =>
    stdout.writableNeedDrain ? new Promise((resolve) => stdout.once('drain', resolve)) : Promise.resolve(),
  onInterrupt,
  ...(stdout.isTTY &&
    env['TERM'] !== 'dumb' && {
      terminal: {
        columns: () => stdout.columns || 80,
        rows: () => stdout.rows || 24,
        hasColour: !env['NO_COLOR'],
      },
    }),
  ...(stdin.isTTY && stderr.isTTY && { confirm }),
}

/** As much as a query may have, and more. */
const maxInputChars = 4 * 1024 * 1024

async function readInput(): Promise<string> {
  let text = ''
  for await (const chunk of stdin.setEncoding('utf8')) {
    text += chunk
    if (text.length > maxInputChars) break
  }
  return text
}

async function confirm(question: string): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr })
  // The input may end, or the user may end it, before there is an answer.
  const ended = new AbortController()
  for (const event of ['SIGINT', 'close']) lines.on(event, () => ended.abort())
  try {
    const answer = await lines.question(`${question} [y/N] `, { signal: ended.signal })
    return /^y(es)?$/i.test(answer.trim())
  } catch {
    return false
  } finally {
    lines.close()
  }
}

/** Timers do not keep the process alive; an open port does. */
function onInterrupt(action: () => void): () => void {
  const { port1 } = new MessageChannel()
  port1.on('message', () => {})
  process.on('SIGINT', action)
  process.on('SIGTERM', action)
  return () => {
    port1.close()
    process.off('SIGINT', action)
    process.off('SIGTERM', action)
  }
}
