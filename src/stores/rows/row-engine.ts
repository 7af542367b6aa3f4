/**
 * The interface of an engine behind a network that row-store.ts turns into a store. An engine keeps rows of bytes and
 * never looks inside them. A row holds an aligned run of buckets that were fetched at one instant, its clock. Two
 * fetches of the same run have the same row id, so that "the newer fetch wins" is a comparison of one number and needs
 * no read.
 */
import type { EpochMs } from '../../core/clock.ts'
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import type { StoreFigures } from '../figures.ts'

export interface RowId {
  /** The first bucket: a multiple of `buckets`, below 0 too. */
  readonly from: number
  /** 64, 16, 4 or 1. */
  readonly buckets: number
}

export interface DatedRowId extends RowId {
  /** When its buckets were fetched. The value holds the exact clock: engines may round this one. */
  readonly clock: EpochMs
}

export interface StoredRow extends DatedRowId {
  readonly value: Buffer
}

/** Bytes of a key besides its rows, of which those with the newest clock are kept. */
export interface Dated {
  readonly value: Buffer
  readonly clock: EpochMs
}

export interface StoredKey {
  /** The record for people and listings: written when it changes, and often enough to outlive the rows. */
  readonly record: Buffer | undefined
  /** A few bytes that differ after every write. */
  readonly stamp: Buffer | undefined
  /** In the order of their first buckets. */
  readonly rows: readonly StoredRow[]
}

export interface RowWrite {
  readonly record?: Dated
  readonly stamp?: Dated
  /** Where a row with the same id is stored, the one with the newer clock stays. */
  readonly put: readonly StoredRow[]
  /** Rows to remove, unless the stored one has a newer clock. Removals come before puts. */
  readonly drop: readonly DatedRowId[]
  /** Removes record and stamp, unless they are newer than this. */
  readonly dropRecord?: EpochMs
  readonly now: EpochMs
  /** Everything may be collected this long after its clock, and not before. */
  readonly retentionMs: number
}

export interface RowEngine {
  readonly name: string
  /**
   * A key, with the rows that begin in `range`; without a range no rows. A range may be unbounded: an engine that cuts keys
   * into partitions then finds out itself which there are.
   */
  read(key: Key, range: Interval | undefined): Promise<StoredKey>
  /** A failure may leave a part of it done: every row stands for itself. */
  write(key: Key, changes: RowWrite): Promise<void>
  /** Every key with its record, a page at a time. */
  records(): AsyncIterable<readonly [Key, Buffer]>
  /**
   * Publishes a message to the other nodes, where the engine can. Lost messages cost freshness within the TTL, nothing
   * else.
   */
  announce?(news: Buffer): void
  /** Called with the messages of other nodes, and of this one. */
  onNews?(listener: (news: Buffer) => void): void
  figures?(): StoreFigures
  close(): Promise<void>
}
