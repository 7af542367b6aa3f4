/**
 * The types that the parts of this backend share: its options, the position of a Druid query on its grid, and the
 * format of its answer.
 */
import type { EpochMs } from '../../core/clock.ts'
import type { TimeSpan } from '../../core/witness.ts'
import type { Plan } from '../backend.ts'
import type { Bypass } from './reasons.ts'

export interface DruidOptions {
  /** The most buckets that one request may touch. */
  readonly maxBuckets: number
  /** Context keys that do not belong to the shape, besides the fixed ones. */
  readonly ignoredContext?: readonly string[]
  /** The zone that Druid is configured to use for a SQL session that names none; UTC where it is not given. */
  readonly sqlTimeZone?: string
}

/** Instants [from, to). */
export type Span = TimeSpan

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
  /** The client's request limits the rows and the narrowed request does not, so that it may return many more. */
  readonly isUnlimited?: boolean
  /** Set where rows are not sorted by their bucket first. The narrowed request always is. */
  readonly order?: RowOrder | undefined
  /** The body of the request for other spans; every other byte that can matter stays. */
  rewrite(spans: readonly Span[]): Uint8Array
  /** The same query for other instants, which are condensed and not empty. */
  layoutOver(asked: readonly Span[], now: EpochMs): Omit<DruidPlan, 'request'> | Bypass
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

/** The order between rows of different buckets. The database has sorted the rows of each bucket. */
export interface RowOrder {
  /** The last key is the bucket: rows of two buckets are never equal. */
  readonly keys: readonly RowKey[]
  /** Druid plans the query as a topN, which sorts nulls differently. */
  readonly isTopN: boolean
}

export interface RowKey {
  /** The name of the member (object), or the number of the field (array). */
  readonly field: string | number
  /**
   * `time`: the bucket. `number`: an aggregate, printed in its own type. `computed`: an expression of aggregates, whose
   * type is not known. `group`: a column of GROUP BY, text or number.
   */
  readonly kind: 'time' | 'number' | 'computed' | 'group'
  readonly isDescending: boolean
}
