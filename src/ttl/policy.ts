/** How long an answer about a bucket of a given age may be cached. Pure: ages in, durations out. */
import type { EpochMs } from '../core/clock.ts'
import type { LearnedTerms } from './learned/learning.ts'

export interface TtlPolicy {
  readonly name: string
  /**
   * The TTL in milliseconds of a bucket that was `ageMs` old when it was fetched, counted from its end. A bucket
   * that was not over yet has a negative age and gets the floor.
   */
  ttl(ageMs: number): number
  /**
   * Buckets at least this old when fetched are settled: their TTL has reached its cap, or the policy defines them as
   * settled.
   */
  readonly settledAgeMs: number
  /** The largest TTL this policy gives. */
  readonly capMs: number
  /** Whether the TTL never decreases with age: a lookup then searches, instead of judging every bucket. */
  readonly isMonotone: boolean
  /** How the TTL goes up and down, where it is not monotone. */
  readonly plateaus?: Plateaus | undefined
  /** The input that its TTLs were computed from: data that changes so often per millisecond, and the share that may be out of date. */
  readonly assumes?: { readonly rate: number; readonly budget: number }
  /**
   * A policy that learns: the engine gets the policy of a shape from `Learning`, and uses this one while there is none.
   */
  readonly learns?: LearnedTerms | undefined
}

/** A TTL that may fall with age: it is constant between one age and the next, and may let buckets lapse earlier. */
export interface Plateaus {
  /** The lowest age above `ageMs` from which the TTL may be another one; infinite behind the last. */
  endOf(ageMs: number): number
  /** When a bucket with this TTL lapses: at `fetchedAt + ttlMs`, or earlier, so that neighbours lapse together. */
  lapseOf(fetchedAt: EpochMs, ttlMs: number): EpochMs
}
