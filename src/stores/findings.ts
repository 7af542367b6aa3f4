/** The findings of `windowpane doctor` about stores. */
import type { Clock } from '../core/clock.ts'
import type { StoreFinding } from './kind.ts'

export const ok = (sentence: string): StoreFinding => ({ status: 'ok', sentence })
export const warn = (sentence: string, remedy: string): StoreFinding => ({ status: 'warn', sentence, remedy })
export const fail = (sentence: string, remedy: string): StoreFinding => ({ status: 'fail', sentence, remedy })

export const capital = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}`

const slowMs = 50

/** `text` is a sentence up to the verb "takes". */
export function speedFinding(text: string, ms: number, remedy: string): StoreFinding {
  const sentence = `${text} takes ${ms.toFixed(1)} ms`
  return ms <= slowMs ? ok(`${sentence}.`) : warn(`${sentence}: slow.`, remedy)
}

/** The duration of the fastest of several attempts: the first one may pay for a connection. */
export async function fastestOf(
  attempts: number,
  clock: Clock,
  action: () => Promise<unknown>,
): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY
  for (let i = 0; i < attempts; i++) {
    const began = clock.elapsed()
    await action()
    fastest = Math.min(fastest, clock.elapsed() - began)
  }
  return fastest
}
