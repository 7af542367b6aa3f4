/**
 * Token buckets for tenants: the words and the seam. A limiter gives a permit or a refusal; both are values. All limits of
 * one entity and resource are one row of cells and are taken together, all or nothing.
 */
import type { EpochMs } from '../core/clock.ts'
import type { MaybePromise } from '../stores/store.ts'

/** A token bucket: it holds `capacity` tokens, and gets `refillAmount` of them every `refillPeriodSeconds`. Whole numbers above 0. */
export interface Limit {
  readonly name: string
  readonly capacity: number
  readonly refillAmount: number
  readonly refillPeriodSeconds: number
}

/** The level of the configuration that the limits of a request come from. It replaces all levels below it. */
export type LimitSource = 'override' | 'entity' | 'entity_default' | 'resource' | 'system'

export interface ResolvedLimits {
  readonly source: LimitSource
  readonly limits: readonly Limit[]
  /** An entity whose limits for the same resource are taken as well. */
  readonly parent?: string
}

/** Finds the limits of an entity. Undefined where no level has any. */
export interface LimitResolver {
  resolve(entity: string, resource: string): MaybePromise<ResolvedLimits | undefined>
}

/** Numbers of tokens by the name of the limit. */
export type Tokens = Readonly<Record<string, number>>

export interface AcquireRequest {
  readonly entity: string
  readonly resource: string
  /** Limits that are not named are credited only. */
  readonly consume: Tokens
  /** Replaces every level of the configuration. */
  readonly limits?: readonly Limit[]
}

/** The remaining tokens of one limit; `available` is below 0 in debt. */
export interface LimitStatus {
  readonly limit: Limit
  readonly available: number
  /** Whether this limit is why the request was refused. */
  readonly isExceeded: boolean
}

export interface Permit {
  readonly ok: true
  /** Undefined where the permit was not counted: see `isDegraded`. */
  readonly source?: LimitSource | undefined
  readonly limits: readonly LimitStatus[]
  /** The store could not be reached, and the limiter allows requests then. Nothing was taken. */
  readonly isDegraded?: true | undefined
  /** Takes more (or, below 0, gives back) once the real cost is known. May lead into debt. Reaches the row that was charged. */
  adjust(delta: Tokens): MaybePromise<void>
  /** Gives everything back. Only the first call counts. */
  refund(): MaybePromise<void>
}

/**
 * `never`: the request exceeds the capacity of the bucket. `unavailable`: the store failed, and the limiter blocks
 * then.
 */
export type RefusalCause = 'exceeded' | 'never' | 'unavailable'

export interface Refusal {
  readonly ok: false
  readonly cause: RefusalCause
  /** Undefined where waiting does not help. Whole milliseconds, as a fraction of a second. */
  readonly retryAfterSeconds?: number
  readonly limits: readonly LimitStatus[]
  readonly source?: LimitSource
}

export interface Limiter {
  /** At once where the cells are in this process and the limits are known. Never rejects. */
  acquire(request: AcquireRequest): MaybePromise<Permit | Refusal>
  /** The remaining tokens, without taking any. Undefined where no limits are configured. */
  status(entity: string, resource: string): MaybePromise<EntityStatus | undefined>
}

export interface EntityStatus {
  readonly source: LimitSource
  readonly limits: readonly LimitStatus[]
  /** When the row is collected; `none` where it is kept. */
  readonly ttl: EpochMs | 'none'
}
