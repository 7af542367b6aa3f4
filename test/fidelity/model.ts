/**
 * A plain model of an interval cache over settled, static data: a set of known instants per question and grid.
 * It is deliberately naive, so that it can judge the real one.
 */
import type { Window } from './walks.ts'

export interface Expected {
  readonly outcome: 'hit' | 'partial' | 'miss'
  /** Buckets that must be fetched: from the first gap to the last, a known suffix being settled and so trusted. */
  readonly asked: number
}

export class KnownBuckets {
  readonly #known = new Map<string, Set<number>>()

  /** The behaviour of a correct cache for this window, which is known from then on. `question` is all but the range. */
  ask(question: string, window: Window): Expected {
    const known = this.#of(`${question}\n${window.step}\n${window.start % window.step}`)
    const instants = instantsOf(window)
    const missing = instants.filter((instant) => !known.has(instant))
    for (const instant of missing) known.add(instant)
    const asked = missing.length === 0 ? 0 : (missing.at(-1)! - missing[0]!) / window.step + 1
    return { asked, outcome: missing.length === 0 ? 'hit' : asked === instants.length ? 'miss' : 'partial' }
  }

  #of(key: string): Set<number> {
    const found = this.#known.get(key) ?? new Set<number>()
    this.#known.set(key, found)
    return found
  }
}

function instantsOf(window: Window): number[] {
  const count = Math.floor((window.end - window.start) / window.step) + 1
  return Array.from({ length: count }, (_, i) => window.start + i * window.step)
}
