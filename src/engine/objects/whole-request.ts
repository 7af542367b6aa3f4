/** A request for an answer that is cached as a whole: its content, its demands, and its own fetch. */
import type { Backend } from '../../backends/backend.ts'
import type { WholePlan } from '../../backends/whole-answers.ts'
import type { Budget } from '../../core/budget.ts'
import type { Clock, EpochMs } from '../../core/clock.ts'
import type { Decision } from '../../core/decision.ts'
import type { Key } from '../../core/key.ts'
import type { Backlog } from '../backlog.ts'
import type { Identity } from '../http/identity.ts'
import type { BackendMarks } from '../marks.ts'
import type { StreamTarget, Upstream } from '../ports.ts'
import type { Client, Demands, FetchOver } from '../trip.ts'
import type { Witness } from '../witness.ts'
import type { ObjectCache, ObjectDemands, ObjectTerms, Rendered } from './objects.ts'
import type { Fetched, WholeFetch } from './whole-fetch.ts'
import type { MarkedAt } from './whole-marks.ts'

export interface WholeCacheOptions {
  /** The name of this database: two of one kind share no objects. */
  readonly name: string
  readonly backend: Backend
  readonly objects: ObjectCache
  readonly upstream: Upstream
  readonly clock: Clock
  readonly budget: Budget
  readonly maxAnswerBytes: number
  /** How long a request that could be answered stale waits for a database that is slow, and one that is down. */
  readonly patienceMs: { readonly slow: number; readonly down: number }
  /** Purges and changes; none by default. */
  readonly marks?: Pick<BackendMarks, 'marksAbout'> | undefined
  /** Where the database's data is watched. */
  readonly witness?: Pick<Witness, 'vouchedForObject'> | undefined
  /** Shared by all databases of a process; one of its own by default. */
  readonly backlog?: Backlog | undefined
  /** Hears of every query to the database when it is over. Must not throw. */
  readonly onFetch?: ((fetched: FetchOver) => void) | undefined
}

export interface WholeRequest {
  readonly plan: WholePlan
  readonly terms: Required<ObjectTerms>
  /** Instead of a time: the share of answers that may be out of date. How long they are fresh is learned. */
  readonly staleness?: number | undefined
  readonly identity: string
  readonly partition: Identity
  readonly demands: Demands
  /** How far the time of an instant query's answer may lie behind the requested one. */
  readonly withinMs: number
  /** Is given a long answer while it arrives. */
  readonly target?: StreamTarget | undefined
  readonly client: Client
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
