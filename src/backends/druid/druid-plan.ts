/**
 * The types that the parts of this backend share: the position of a Druid query on its grid, and the format of its
 * answer.
 */
import type { EpochMs } from '../../core/clock.ts'
import type { Plan } from '../backend.ts'
import type { Bypass } from './reasons.ts'

/** Instants [from, to). */
export interface Span {
  readonly from: EpochMs
  readonly to: EpochMs
}

export interface DruidPlan extends Plan {
  /** The requested spans: condensed (disjoint, not abutting), in time order. */
  readonly spans: readonly Span[]
  /** The client's own request has exactly these spans, whenever it is sent. */
  readonly isAsSent: boolean
  readonly format: RowFormat
  /** Rows come newest bucket first. */
  readonly isDescending: boolean
  /** The answer ends after so many rows; Infinity where all are wanted. The narrowed request has no limit. */
  readonly limit: number
  /** The client's request has a limit on groups of a bucket that the narrowed one has not: it may bring many more rows. */
  readonly isUnlimited?: boolean
  /** Where rows are sorted by something else than their bucket. The narrowed request sorts by the bucket first. */
  readonly order?: RowOrder | undefined
  /** The body of the request for other spans; every other byte that can matter stays. */
  rewrite(spans: readonly Span[]): Uint8Array
  /** The same query for other instants, which are condensed and not empty. */
  layOver(asked: readonly Span[], now: EpochMs): Omit<DruidPlan, 'request'> | Bypass
}

/** How rows are written one after the other, and where in a row its bucket's beginning stands. */
export interface RowFormat {
  /** `list`: [row,row]; `lines`: a row and a newline each. */
  readonly container: 'list' | 'lines'
  readonly row: 'object' | 'array' | 'csv'
  /** The name of the member (object), or the number of the field (array, csv), that holds the time. */
  readonly time: string | number
  /** Rows before the data: names, types. Part of the frame. */
  readonly headerRows: number
  /** The end of the body, behind the list or the last line. */
  readonly end: string
}

/** How rows of different buckets are sorted. Rows of one bucket come in that order from the database. */
export interface RowOrder {
  /** The last one is the bucket, so that no two buckets are equal. */
  readonly keys: readonly RowKey[]
  /** Druid plans the query as a topN, where nulls have another place than elsewhere. */
  readonly isTopN: boolean
}

export interface RowKey {
  /** The name of the member (object), or the number of the field (array). */
  readonly field: string | number
  /**
   * `time`: the bucket. `number`: an aggregate, of the type that it is printed in. `computed`: made of aggregates, of a
   * type that only its text shows. `group`: a column that rows are grouped by, text or number.
   */
  readonly kind: 'time' | 'number' | 'computed' | 'group'
  readonly isDescending: boolean
}
