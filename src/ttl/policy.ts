/** How long an answer about a bucket of a given age may be cached. Pure: ages in, durations out. */
import type { Freshness } from '../core/expiry.ts'
import type { LearnedTerms } from './learned/learning.ts'

export interface TtlPolicy extends Freshness {
  readonly name: string
  /** The largest TTL this policy gives. */
  readonly capMs: number
  /** The input that its TTLs were computed from: data that changes so often per millisecond, and the share that may be out of date. */
  readonly assumes?: { readonly rate: number; readonly budget: number }
  /**
   * A policy that learns: the engine gets the policy of a shape from `Learning`, and uses this one while there is none.
   */
  readonly learns?: LearnedTerms | undefined
}
