/** The CQL statements for pane rows and records, and the partition of a row. */
import type { EpochMs } from '../../core/clock.ts'
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import type { DatedRowId, RowWrite, StoredRow } from '../rows/row-engine.ts'
import type { Statement } from './library.ts'
import { tableIn } from './tables.ts'
import { microsOf, ttlSeconds } from './time.ts'

/** A multiple of the longest row, so that no row reaches into the next partition. */
const bucketsPerSlice = 512

export const sliceOf = (bucket: number): number => Math.floor(bucket / bucketsPerSlice)

/** A record is written once in a quarter of the retention: rows that came later must not outlive it. */
const recordLifetimes = 1.5

type Lifetime = Pick<RowWrite, 'now' | 'retentionMs'>

export class RowStatements {
  readonly #panes: string
  readonly #records: string

  constructor(keyspace: string) {
    this.#panes = tableIn(keyspace, 'panes')
    this.#records = tableIn(keyspace, 'records')
  }

  /** The rows of one partition that begin in a range. */
  rows(key: Key, slice: number, { from, to }: Interval): Statement {
    return {
      query: `SELECT bucket, buckets, value, writetime(value) AS written FROM ${this.#panes} WHERE key = ? AND slice = ? AND bucket >= ? AND bucket < ?`,
      params: [key, BigInt(slice), bigintOf(from), bigintOf(to)],
    }
  }

  /** Record and stamp, on one row. */
  head(key: Key): Statement {
    return { query: `SELECT record, stamp FROM ${this.#records} WHERE key = ? LIMIT 1`, params: [key] }
  }

  /** Record and stamp, on every row, and a row per partition that holds panes. */
  headAndSlices(key: Key): Statement {
    return { query: `SELECT record, stamp, slice FROM ${this.#records} WHERE key = ?`, params: [key] }
  }

  /** Every key once. */
  records(): Statement {
    return { query: `SELECT DISTINCT key, record FROM ${this.#records}`, params: [] }
  }

  /** Undefined where the row has already expired. */
  put(key: Key, row: StoredRow, { now, retentionMs }: Lifetime): Statement | undefined {
    const ttl = ttlSeconds(row.clock + retentionMs, now)
    if (ttl === undefined) return undefined
    const { from, buckets, value, clock } = row
    return {
      query: `INSERT INTO ${this.#panes} (key, slice, bucket, buckets, value) VALUES (?, ?, ?, ?, ?) USING TTL ? AND TIMESTAMP ?`,
      params: [key, BigInt(sliceOf(from)), BigInt(from), buckets, value, ttl, microsOf(clock)],
    }
  }

  drop(key: Key, { from, buckets, clock }: DatedRowId): Statement {
    return {
      query: `DELETE FROM ${this.#panes} USING TIMESTAMP ? WHERE key = ? AND slice = ? AND bucket = ? AND buckets = ?`,
      params: [microsOf(clock), key, BigInt(sliceOf(from)), BigInt(from), buckets],
    }
  }

  /** Older rows that a long row covers, in one tombstone. */
  dropCovered(key: Key, { from, buckets, clock }: DatedRowId): Statement {
    return {
      query: `DELETE FROM ${this.#panes} USING TIMESTAMP ? WHERE key = ? AND slice = ? AND bucket >= ? AND bucket < ?`,
      params: [microsOf(clock) - 1n, key, BigInt(sliceOf(from)), BigInt(from), BigInt(from + buckets)],
    }
  }

  /** Undefined where nothing of the kind is written, or it has already expired. */
  putHead(key: Key, column: 'record' | 'stamp', changes: RowWrite): Statement | undefined {
    const dated = changes[column]
    const ttl = dated && ttlSeconds(dated.clock + recordLifetimes * changes.retentionMs, changes.now)
    if (dated === undefined || ttl === undefined) return undefined
    return {
      query: `INSERT INTO ${this.#records} (key, ${column}) VALUES (?, ?) USING TTL ? AND TIMESTAMP ?`,
      params: [key, dated.value, ttl, microsOf(dated.clock)],
    }
  }

  dropHead(key: Key, until: EpochMs): Statement {
    return {
      query: `DELETE record, stamp FROM ${this.#records} USING TIMESTAMP ? WHERE key = ?`,
      params: [microsOf(until), key],
    }
  }

  /** Records that a partition holds rows, the youngest of them of this clock. */
  putSlice(
    key: Key,
    { slice, clock }: { readonly slice: number; readonly clock: EpochMs },
    { now, retentionMs }: Lifetime,
  ): Statement | undefined {
    const ttl = ttlSeconds(clock + retentionMs, now)
    if (ttl === undefined) return undefined
    return {
      query: `INSERT INTO ${this.#records} (key, slice) VALUES (?, ?) USING TTL ? AND TIMESTAMP ?`,
      params: [key, BigInt(slice), ttl, microsOf(clock)],
    }
  }
}

/** The bounds of an interval may be "always". */
const bigintOf = (bucket: number): bigint =>
  BigInt(Math.min(Math.max(bucket, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER))
