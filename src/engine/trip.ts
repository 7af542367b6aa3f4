/** The options of the engine, its requests and answers, and the state that a request carries from step to step. */
import type { Backend, HeaderList, Plan, Recomposed } from '../backends/backend.ts'
import type { Budget } from '../core/budget.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import { type Decision, newDecision, type ServingReason } from '../core/decision.ts'
import type { Grid } from '../core/grid.ts'
import type { Intervals } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import type { Mark } from '../core/mark.ts'
import type { Pane } from '../core/pane.ts'
import type { Refusal } from '../limits/limit.ts'
import type { Store } from '../stores/store.ts'
import { delayed } from '../ttl/delayed.ts'
import type { LearnedEvent, Learning } from '../ttl/learned/learning.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import type { Backlog } from './backlog.ts'
import type { Claims } from './claims.ts'
import type { CostMeter, OverQuota } from './cost.ts'
import type { DatabaseFailure, FetchResult, WholeResponse } from './fetch.ts'
import type { Identity } from './http/identity.ts'
import type { BackendMarks } from './marks.ts'
import type { StreamTarget, Upstream } from './ports.ts'
import type { ShadowLog } from './shadow/log.ts'
import type { Witness } from './witness.ts'

export interface IntervalCacheOptions {
  /** The name of this database: two of one kind share no keys. */
  readonly name: string
  readonly backend: Backend
  readonly store: Store
  readonly policy: TtlPolicy
  readonly upstream: Upstream
  readonly clock: Clock
  readonly budget: Budget
  readonly maxAnswerBytes: number
  /** How long after a bucket's TTL it may be served when the database does not answer. */
  readonly maxStaleMs: number
  /** How long a request that could be answered stale waits for a database that is slow, and one that is down. */
  readonly patienceMs: { readonly slow: number; readonly down: number }
  /** Purges and changes since the fetch. */
  readonly marks: Pick<BackendMarks, 'marksFor'>
  /** Keeps settled buckets fresh that are known to be unchanged; none by default. */
  readonly witness?: Pick<Witness, 'vouchedFor'> | undefined
  /** Learns about the data, where a policy needs that. */
  readonly learning?: Learning | undefined
  /** Puts a mark in force: changes that a sentinel finds are marked. Without it, no sentinels are sent. */
  readonly mark?: ((mark: Mark) => unknown) | undefined
  /** How often buckets are fetched again to see whether they have changed; `usualProbes` by default. */
  readonly probes?: ProbeOptions | undefined
  /** How long a store may take to read or write before the request goes on without it. */
  readonly storeTimeoutMs: number
  /** Hears of every query to the database when it is over, before its result is used. Must not throw. */
  readonly onFetch?: (fetched: FetchOver) => void
  /** The log of shadow mode; its own by default. */
  readonly shadowLog?: Pick<ShadowLog, 'equal' | 'mismatch' | 'skip'>
  /** Where other threads or nodes fetch for the same store. */
  readonly claims?: Claims
  /** Shared by all databases of a process; one of its own by default. */
  readonly backlog?: Backlog | undefined
  /** Off only to measure its effect. */
  readonly coalescing: boolean
  /** Whether settled buckets are fetched before they lapse, in the background. Off only to measure requests alone. */
  readonly refreshesAhead?: boolean
}

/**
 * Mean times between two probes of one backend and thread, for a budget of 1 % and less: they are longer for larger
 * ones. Where there are N threads, N times as long in each.
 */
export interface ProbeOptions {
  /** Single buckets, which measure the share of served buckets that is out of date. */
  readonly sampleEveryMs: number
  /** Four settled neighbours, which show corrections of many buckets at once. */
  readonly sentinelEveryMs: number
}

export const usualProbes: ProbeOptions = { sampleEveryMs: 40_000, sentinelEveryMs: 50_000 }

export interface FetchOver {
  readonly result: FetchResult
  readonly intervals: Intervals
  readonly grid: Grid
  /** From sending the query to the end of its response. */
  readonly durationMs: number
}

export interface CacheRequest {
  readonly plan: Plan
  readonly identity: string
  /** How the identity was found: which headers all requests with the same identity agree in. */
  readonly partition: Identity
  /** The client's demands of stored answers (request Cache-Control). */
  readonly demands: Demands
  /** Where a full miss is streamed to; without one the answer is returned whole. */
  readonly target?: StreamTarget
  readonly client: Client
  /** Instead of the cache's own, for this request. */
  readonly policy?: TtlPolicy
  readonly maxStaleMs?: number
  /** `floor` unless given. */
  readonly trailingEmpty?: TrailingEmpty | undefined
  /** Charged for the query that this request sends; without one, queries cost nothing. */
  readonly meter?: CostMeter | undefined
}

/** Empty buckets at the end of an answer that are not settled, whose data may only be late: cached for the floor, or not at all. */
export type TrailingEmpty = 'floor' | 'off'

export interface Client {
  /** True once the connection was closed before the answer was complete. */
  readonly isGone: boolean
  /** Calls back when it is gone. */
  onGone(callback: () => void): void
}

export interface Demands {
  /** Only buckets fetched at or after this instant will do. */
  readonly notBefore: EpochMs
  readonly onlyIfCached: boolean
}

export type Answer =
  | {
      readonly kind: 'panes'
      readonly headers: HeaderList
      readonly body: Recomposed
      /** The panes of the body, where it consists of nothing else: equal panes give equal bytes. */
      readonly panes?: readonly Pane[]
    }
  /** An answer that is kept as a whole. Equal tags mean equal bodies. */
  | {
      readonly kind: 'object'
      readonly headers: HeaderList
      readonly body: Uint8Array
      readonly etag: string
    }
  | { readonly kind: 'response'; readonly response: WholeResponse }
  | { readonly kind: 'failure'; readonly failure: DatabaseFailure }
  | { readonly kind: 'streamed' }
  | { readonly kind: 'forward'; readonly reason: ServingReason; readonly detail?: string }
  | { readonly kind: 'not-cached' }
  | { readonly kind: 'over-quota'; readonly refusal: Refusal }
  | { readonly kind: 'client-gone' }

export interface Trip {
  readonly request: CacheRequest
  readonly plan: Plan
  readonly key: Key
  readonly decision: Decision
  readonly policy: TtlPolicy
  readonly maxStaleMs: number
  /** Observes refetches, where the policy learns. */
  readonly learning: RefetchObserver | undefined
  /** A pane with the frame that the database answers in, once stored ones turned out to have another. */
  frame?: Pane
  /** How often it has looked again because another thread or node was fetching. */
  looks?: number
  /** On the clock's `elapsed`: its patience does not begin again when it looks again. */
  waitsSince?: number
  /** Of its first lookup: buckets that were fresh then are accepted when it looks again. */
  freshAt?: EpochMs
  /** It needs an answer of the database of its own, whatever other threads or nodes fetch or have fetched. */
  readonly isProbe?: boolean
  /** It waited for buckets fetched from then on, and accepts them even if their TTL expired meanwhile. */
  acceptFrom?: EpochMs | undefined
  /** Set where the client has no quota for the query of this request. */
  overQuota?: OverQuota
  /** The newest clock that the last lookup found among the buckets that are not fresh. */
  newestSeen?: EpochMs
}

/** Receives the observations of refetches, and the query that each is about. */
export interface RefetchObserver {
  /** `markedAt`: some buckets were refetched because of a mark of which `hasMarked` is true. */
  observe(event: LearnedEvent, asked: Pick<Trip, 'key' | 'plan' | 'policy'>, markedAt?: EpochMs): void
  /** Whether it made a mark at this instant. Buckets that are refetched because of another mark are not observed. */
  hasMarked?(at: EpochMs): boolean
}

/** The policy of one question: a policy that learns has one for each shape, and ages count from the newest data that is read. */
export function policyOver(
  { policy: usual, learning }: Pick<IntervalCacheOptions, 'policy' | 'learning'>,
  { policy = usual, plan }: Pick<CacheRequest, 'policy' | 'plan'>,
  key: Key,
): TtlPolicy {
  const isLearned = policy.learns !== undefined && learning !== undefined
  const { sources, grid } = plan
  const own = isLearned ? learning.policyFor(policy.learns, { key, sources, grid }) : policy
  return plan.lookaheadMs === undefined ? own : delayed(own, plan.lookaheadMs)
}

/** The trip of a query that no client waits for, for the same question, with the headers of the request that led to it. */
export function backgroundTrip(
  { key, plan, policy, maxStaleMs, request: { identity, partition, trailingEmpty } }: Trip,
  learning: Trip['learning'],
): Trip {
  const demands = { notBefore: Number.NEGATIVE_INFINITY, onlyIfCached: false }
  const request = { plan, identity, partition, demands, trailingEmpty, client: nobody }
  return { request, plan, key, decision: newDecision(), policy, maxStaleMs, learning }
}

/** The trip of a background query whose answer is compared with the stored one. */
export const probeTrip = (trip: Trip, learning: Trip['learning']): Trip => ({
  ...backgroundTrip(trip, learning),
  isProbe: true,
})

export const nobody: Client = { isGone: false, onGone() {} }
