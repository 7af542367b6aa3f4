/** The seam to databases that report the segments their answers are made of. */
import type { TimeSpan } from '../core/witness.ts'
import type { WireRequest } from './backend.ts'

/** Looking at the segments that answers are made of. Another set of segments is other data, and equal sets are equal data. */
export interface SegmentWatch {
  /** Queries the server that answers queries for the segments it answers them from. */
  readonly request: WireRequest
  /** The permission that its account needs, as a part of a sentence. */
  readonly permission: string
  /** For one answer to it. */
  reader(): SegmentReader
  /**
   * The differences between two views: exactly the intervals whose answers may differ now, as far as they were at rest
   * before.
   */
  changes(before: SegmentView, after: SegmentView): readonly SourceSpans[]
  /** Where only finished segments serve, by data source: nothing is being written there, and nothing is still to come. */
  atRest(view: SegmentView): ReadonlyMap<string, readonly TimeSpan[]>
}

/** How segments are watched. */
export interface SegmentSettings {
  /** From the end of a look to the next. */
  readonly everyMs: number
  /** How old the last good view may be and still be trusted. */
  readonly patienceMs: number
  /** A bucket fetched longer ago is not fresh, whatever is seen. */
  readonly maxAgeMs: number
}

/** Reads the response as it arrives; only the needed parts are kept. */
export interface SegmentReader {
  write(chunk: Uint8Array): void
  end(status: number): SegmentView | Unreadable
}

export interface Unreadable {
  /** For people: the problem. */
  readonly unreadable: string
}

/** The segments that answers are made of at one moment. */
export interface SegmentView {
  readonly count: number
  /** By data source, then by their interval as text. */
  readonly sources: ReadonlyMap<string, ReadonlyMap<string, SegmentGroup>>
}

/** The segments of one data source that have the same interval. */
export interface SegmentGroup extends TimeSpan {
  /** Sorted, without the common part of the group. */
  readonly published: readonly string[]
  /** The segments that are still being written. */
  readonly realtime: readonly string[]
}

export interface SourceSpans {
  readonly source: string
  /** In time order, disjoint. */
  readonly spans: readonly TimeSpan[]
}
