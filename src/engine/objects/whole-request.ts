import type { WholePlan } from '../../backends/whole-answers.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { Decision } from '../../core/decision.ts'
import type { Key } from '../../core/key.ts'
import type { BackendMarks } from '../marks.ts'
import type { StreamTarget } from '../ports.ts'
import type { CacheRequest, Demands, FetchOver, IntervalCacheOptions } from '../trip.ts'
import type { Witness } from '../witness.ts'
import type { ObjectCache, ObjectDemands, ObjectTerms, Rendered } from './objects.ts'
import type { Fetched, WholeFetch } from './whole-fetch.ts'
import type { MarkedAt } from './whole-marks.ts'

type SharedOption =
  | 'name'
  | 'backend'
  | 'upstream'
  | 'clock'
  | 'budget'
  | 'maxAnswerBytes'
  | 'patienceMs'
  | 'backlog'

export interface WholeCacheOptions extends Pick<IntervalCacheOptions, SharedOption> {
  readonly objects: ObjectCache
  /** Purges and changes; none by default. */
  readonly marks?: Pick<BackendMarks, 'marksAbout'> | undefined
  /** Where the database's data is watched. */
  readonly witness?: Pick<Witness, 'vouchedForObject'> | undefined
  /** Hears of every query to the database when it is over. Must not throw. */
  readonly onFetch?: ((fetched: FetchOver) => void) | undefined
}

export interface WholeRequest extends Pick<CacheRequest, 'identity' | 'partition' | 'demands' | 'client'> {
  readonly plan: WholePlan
  readonly terms: Required<ObjectTerms>
  /** Instead of a time: the share of answers that may be out of date. How long they are fresh is learned. */
  readonly staleness?: number | undefined
  /** How far the time of an instant query's answer may lie behind the requested one. */
  readonly withinMs: number
  /** Is given a long answer while it arrives. */
  readonly target?: StreamTarget | undefined
}

export interface WholeTrip {
  readonly request: WholeRequest
  readonly key: Key
  readonly decision: Decision
  readonly marked: MarkedAt
  readonly demands: ObjectDemands & { readonly freshFrom: EpochMs; readonly usableFrom: EpochMs }
}

/** The fetch of one request, where this request queried the database. */
export interface OwnFetch {
  fetch?: WholeFetch
  rendered?: Rendered & { readonly result: Fetched }
  /** It has its answer: the rest of the fetch is for the store alone. */
  isAnswered: boolean
}

/** Marks concern objects generated at or before them. A client that demands fresh data gets no stale answer. */
export const demandsOf = (
  { changedAt, purgedAt }: MarkedAt,
  { notBefore }: Demands,
): WholeTrip['demands'] => ({
  freshFrom: Math.max(notBefore, changedAt + 1),
  usableFrom: Math.max(notBefore, purgedAt + 1),
})
