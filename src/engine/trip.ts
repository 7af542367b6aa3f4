/** What the engine is made of, what it is asked, what it answers, and what a request carries from step to step. */
import type { Backend, HeaderList, Plan, Recomposed } from '../backends/backend.ts'
import type { Budget } from '../core/budget.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import type { BypassReason, Decision } from '../core/decision.ts'
import type { Key } from '../core/key.ts'
import type { Pane } from '../core/pane.ts'
import type { Store } from '../stores/store.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import type { DatabaseFailure, WholeResponse } from './fetch.ts'
import type { StreamTarget, Upstream } from './ports.ts'

export interface IntervalCacheOptions {
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
  /** How long a store may take to read or write before the request goes on without it. */
  readonly storeTimeoutMs: number
  /** Off only to measure what it is worth. */
  readonly coalescing: boolean
}

export interface CacheRequest {
  readonly plan: Plan
  readonly identity: string
  /** What the client demands of stored answers (request Cache-Control). */
  readonly demands: Demands
  /** Where a full miss is streamed to; without one the answer is returned whole. */
  readonly target?: StreamTarget
  readonly client: Client
}

/** Whoever waits for the answer. */
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
  | { readonly kind: 'panes'; readonly headers: HeaderList; readonly body: Recomposed }
  | { readonly kind: 'response'; readonly response: WholeResponse }
  | { readonly kind: 'failure'; readonly failure: DatabaseFailure }
  | { readonly kind: 'streamed' }
  | { readonly kind: 'forward'; readonly reason: BypassReason; readonly detail?: string }
  | { readonly kind: 'not-cached' }
  | { readonly kind: 'client-gone' }

export interface Trip {
  readonly request: CacheRequest
  readonly plan: Plan
  readonly key: Key
  readonly decision: Decision
  /** A pane with the frame that the database answers in, once stored ones turned out to have another. */
  frame?: Pane
}
