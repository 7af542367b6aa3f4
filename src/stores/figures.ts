/** What a store says about itself, for metrics and status: cheap to ask for, also where millions of buckets are kept. */
import type { EpochMs } from '../core/clock.ts'

/** Why something left a store before anybody removed it. */
export const evictionReasons = {
  memory: 'keys that left because memory was needed',
  disk: 'keys that left because the store holds as much as it may',
  expired: 'keys of which every bucket was older than the retention',
  surplus: 'buckets of a question that has more than it may have',
} as const

export type EvictionReason = keyof typeof evictionReasons

export const storeOperations = ['read', 'write', 'remove'] as const
export type StoreOperation = (typeof storeOperations)[number]

export interface StoreCondition {
  /** `missing`: it could not be opened, and buckets are kept in memory only. */
  readonly state: 'ok' | 'degraded' | 'closed' | 'missing'
  readonly trouble?: string
  readonly since?: EpochMs
  readonly detail?: string
}

/** What is not known, or has no meaning for a store, is left out. Counts are those since the start. */
export interface StoreFigures {
  /** Keys. */
  readonly entries?: number
  readonly bytes?: number
  readonly limitBytes?: number
  /** What the file takes, free pages included. */
  readonly fileBytes?: number
  readonly evictions?: Readonly<Partial<Record<EvictionReason, number>>>
  readonly health?: StoreCondition
  /** Operations that failed or took too long. */
  readonly failures?: number
  /** Requests that the engine refused because there were too many; most are sent again. */
  readonly throttled?: number
  /** Panes that the store did not take: its queue was full, it refused, or it was left alone. */
  readonly dropped?: number
  /** Values whose length or checksum was wrong. */
  readonly damagedValues?: number
  /** Bytes that wait to be written. */
  readonly queuedBytes?: number
}
