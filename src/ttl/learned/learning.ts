/**
 * Learning how the data of one backend changes: the seam between the engine, which sees refetches, and the learner,
 * which computes TTLs from them. The evidence lives outside policies: it outlives a reload, every thread has all of it,
 * and nodes add theirs. Everything here is plain values, so that threads can send them to each other.
 */
import type { EpochMs } from '../../core/clock.ts'
import type { Grid } from '../../core/grid.ts'
import type { TtlPolicy } from '../policy.ts'

/** The terms of the operator. */
export interface LearnedTerms {
  /** Of the buckets that viewers are shown, this share may be out of date: 0.01 is one in a hundred. */
  readonly budget: number
  readonly floorMs: number
  readonly capMs: number
  /** From this age on a bucket counts as settled. */
  readonly settledAgeMs: number
}

/** The attributes of a shape that matter to learning. */
export interface LearnedShape {
  readonly key: string
  /** Metrics or data sources: shapes of the same ones learn from each other. */
  readonly sources: readonly string[]
}

/** A shape that needs TTLs, and where its buckets begin. */
export interface ServedShape extends LearnedShape {
  readonly grid: Pick<Grid, 'step' | 'origin'>
}

/** Observations from one answer of the database, of buckets that were stored before. Flat arrays, one entry per bucket. */
export interface Refetch {
  readonly kind: 'refetch'
  readonly shape: LearnedShape
  readonly at: EpochMs
  /** How old the bucket was when its old copy was fetched, and when the new one was; from its end, in milliseconds. */
  readonly oldAges: Float64Array
  readonly newAges: Float64Array
  /** 1 where the value is another one. */
  readonly changed: Uint8Array
  /** It was seen before, and comes with much more of its kind at once: the rates are fitted to it without waiting for a tick. */
  readonly isHistory?: boolean
}

/** Returns how many of the buckets with an index in `[from, to)` have changed; by default of all buckets. */
export function countChanged({ changed }: Pick<Refetch, 'changed'>, from = 0, to = changed.length): number {
  let count = 0
  for (let i = from; i < to; i++) count += changed[i]!
  return count
}

/** One bucket that was served to a viewer and fetched again right afterwards. */
export interface StalenessSample {
  readonly kind: 'sample'
  readonly at: EpochMs
  /** How old the bucket was when it was shown. */
  readonly ageMs: number
  readonly isStale: boolean
  /** How far the shown value was off, as a share of the true one; 0 where it was right, 1 where it was missing. */
  readonly error: number
  /** The staleness budget of the shape: shapes of one backend may have different ones. */
  readonly budget?: number
}

export type LearnedEvent = Refetch | StalenessSample

/** Where the rate of an age class comes from: the first of these that has seen enough. */
export type RateSource = 'shape' | 'source' | 'backend' | 'prior'

export interface MeasuredStaleness {
  /** Shares of the buckets shown, with a 95 % confidence interval; 0, 0 and 1 without a sample. */
  readonly estimate: number
  readonly low: number
  readonly high: number
  readonly samples: number
  /** How far off stale values were, on average, as a share of the true ones. */
  readonly error: number
}

/** One age class, as `windowpane ttl` shows it. Milliseconds, and changes per millisecond. */
export interface ClassReport {
  readonly fromMs: number
  /** Infinite for the last. */
  readonly toMs: number
  readonly rate: number
  readonly rateUpper95: number
  /** Buckets that were refetched at this age, discounted with the time since then. */
  readonly observations: number
  readonly ttlMs: number
  readonly source: RateSource
  /** The limit that keeps the TTL from the value that the budget allows. */
  readonly boundBy: 'floor' | 'cap' | undefined
  readonly staleness: MeasuredStaleness
}

export interface Learning {
  /** The policy of a shape at this moment. The same object until something was learned. */
  policyFor(terms: LearnedTerms, shape: ServedShape): TtlPolicy
  /** Counts an event of this thread and forwards it to the others. */
  observe(event: LearnedEvent): void
  /** The curve of a shape, or of the backend as a whole. */
  report(terms: LearnedTerms, shape?: LearnedShape): readonly ClassReport[]
}
