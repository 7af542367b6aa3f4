/** The state of a store, for metrics and status: cheap to read, also where millions of buckets are stored. */
import type { EpochMs } from '../core/clock.ts'
import type { BreakerState } from './breaker.ts'

/** Why an entry was removed from a store without a purge. */
export const evictionReasons = {
  memory: 'keys evicted because memory was needed',
  disk: 'keys evicted because the store has reached its size limit',
  expired: 'keys whose buckets were all older than the retention',
  surplus: 'buckets beyond the limit of a shape',
} as const

export type EvictionReason = keyof typeof evictionReasons

/** `cell`: one operation on small rows, such as claims and marks. */
export const storeOperations = ['read', 'write', 'remove', 'cell'] as const
export type StoreOperation = (typeof storeOperations)[number]

/** The state of a store, as in `/-/status`. */
export const storeStates = {
  ok: 'it is used',
  degraded: 'it is used as far as it can be: full, damaged, not set up or unreachable',
  open: 'its circuit breaker is open: it failed or was too slow, requests go on without it, and it is tried again by itself',
  missing: 'it could not be opened at the start: buckets are kept in memory only, until a restart',
  closed: 'Windowpane is shutting down',
} as const

export type StoreState = keyof typeof storeStates

export interface StoreCondition {
  readonly state: StoreState
  /** A stable word for the problem. */
  readonly trouble?: string
  readonly since?: EpochMs
  /** A sentence. */
  readonly detail?: string
}

/** Unknown figures, and figures that have no meaning for a store, are absent. Counts are since the start. */
export interface StoreFigures {
  /** Keys. */
  readonly entries?: number
  readonly bytes?: number
  readonly limitBytes?: number
  /** The size of the file, free pages included. */
  readonly fileBytes?: number
  readonly evictions?: Readonly<Partial<Record<EvictionReason, number>>>
  readonly health?: StoreCondition
  /** Operations that failed or took too long. */
  readonly failures?: number
  /** Panes that the store did not take: its queue was full, it refused, or its breaker was open. */
  readonly dropped?: number
  /** Reads that brought buckets which memory had not, or had only older. */
  readonly found?: number
  /** Values whose length or checksum was wrong. */
  readonly damagedValues?: number
  /** Bytes that wait to be written. */
  readonly queuedBytes?: number
  /** Of stores behind the memory. */
  readonly breaker?: {
    readonly state: BreakerState
    /** How often each state was entered. */
    readonly transitions: Readonly<Record<BreakerState, number>>
  }
  /** Requests that the engine rejected for now because too many came (throttling). */
  readonly throttled?: number
  /** Requests that the engine rejected for good: missing rights, missing tables, values that are too large. */
  readonly refusedRequests?: number
  /** Rows that the engine's own TTL has deleted, where it reports them: a sign that collection works, nothing else. */
  readonly expired?: number
}
