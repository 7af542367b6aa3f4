/**
 * Marks: data stored up to an instant is no longer valid. A mark is written before anything is deleted, and it stays:
 * data that a concurrent fetch brings back is older than the mark, and is ignored.
 */
import type { EpochMs } from './clock.ts'
import { bucketAt, bucketFrom, type Grid } from './grid.ts'
import type { Interval } from './interval.ts'
import type { Key } from './key.ts'

/** `purge`: not usable at all. `stale`: not fresh, but better than nothing when the database does not answer. */
export type MarkKind = 'purge' | 'stale'

/** An absent member matches everything: a mark without a backend concerns all backends. */
export interface Mark {
  readonly kind: MarkKind
  readonly backend?: string
  /** A key, or the exact text of a shape or of its query. */
  readonly shape?: string
  /** The name of a metric or data source. */
  readonly source?: string
  /** The time of the data, half-open; infinite where it has no end. */
  readonly from: EpochMs
  readonly to: EpochMs
  /** Concerns data that was fetched at or before this instant. */
  readonly at: EpochMs
}

/** The attributes that a mark is matched against. */
export interface MarkedQuestion {
  readonly key: Key
  /** Not given where the marks are those of its backend already. */
  readonly backend?: string
  readonly shape: string
  readonly query: string
  readonly sources: readonly string[]
  readonly knowsAllSources: boolean
}

/** The parts of a plan or of a shape record that a mark is matched against. */
export interface MarkedShape extends MarkedQuestion {
  readonly backend: string
  readonly grid: Grid
  readonly lookbackMs: number
  /** 0 unless given. */
  readonly lookaheadMs?: number
}

/** A mark on one grid: the buckets that it touches. */
export interface BucketMark extends Interval {
  readonly kind: MarkKind
  readonly at: EpochMs
}

export const noMarks: readonly BucketMark[] = []

/** Whether a mark concerns a shape at all; `touchedBuckets` decides which of its buckets. */
export function isConcerned(mark: Mark, question: MarkedQuestion): boolean {
  if (mark.backend !== undefined && (question.backend ?? mark.backend) !== mark.backend) return false
  if (mark.source !== undefined && !mayRead(question, mark.source)) return false
  const { shape } = mark
  return shape === undefined || shape === question.key || shape === question.shape || shape === question.query
}

/** A question that reads something whose name is not known may read anything. */
const mayRead = ({ sources, knowsAllSources }: MarkedQuestion, source: string): boolean =>
  !knowsAllSources || sources.includes(source)

/**
 * The buckets that are computed from data in the mark's interval: an instant t from data in [t - lookback, t + lookahead], a cell
 * from data in [start - lookback, end + lookahead). Without a bound to the lookback any bucket may be, also an earlier one: a fixed
 * instant can lie after the bucket.
 */
export function touchedBuckets(
  mark: Pick<Mark, 'from' | 'to'>,
  { grid, lookbackMs, lookaheadMs = 0 }: Pick<MarkedShape, 'grid' | 'lookbackMs' | 'lookaheadMs'>,
): Interval {
  if (lookbackMs === Number.POSITIVE_INFINITY) return always
  const first = mark.from - lookaheadMs
  return {
    from: grid.kind === 'point' ? bucketFrom(grid, first) : bucketAt(grid, first),
    to: bucketFrom(grid, mark.to + lookbackMs),
  }
}

const always: Interval = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }

/** The buckets of a question that a mark touches; undefined where there are none. */
export function bucketMarkOf(mark: Mark, question: MarkedShape): BucketMark | undefined {
  if (!isConcerned(mark, question)) return undefined
  const { from, to } = touchedBuckets(mark, question)
  return from < to ? { kind: mark.kind, at: mark.at, from, to } : undefined
}

/** The mark that decides about a bucket fetched at `clock`, and up to which bucket nothing changes about that. */
export interface MarkedRun {
  readonly mark: BucketMark | undefined
  readonly to: number
}

export function markedRun(bucket: number, clock: EpochMs, marks: readonly BucketMark[]): MarkedRun {
  let found: BucketMark | undefined
  let to = Number.POSITIVE_INFINITY
  for (const mark of marks) {
    if (!(clock <= mark.at) || mark.to <= bucket) continue
    to = Math.min(to, mark.from > bucket ? mark.from : mark.to)
    if (mark.from <= bucket && isStronger(mark, found)) found = mark
  }
  return { mark: found, to }
}

/** A purge counts before a stale mark; of two of one kind the later. */
function isStronger(mark: BucketMark, other: BucketMark | undefined): boolean {
  if (other === undefined) return true
  return mark.kind === other.kind ? mark.at > other.at : mark.kind === 'purge'
}

export const isPurged = (bucket: number, clock: EpochMs, marks: readonly BucketMark[]): boolean =>
  marks.length > 0 && markedRun(bucket, clock, marks).mark?.kind === 'purge'

/** Whether `mark` includes everything that `other` covers, so that `other` may be dropped. */
export function hasAllOf(mark: Mark, other: Mark): boolean {
  const isWide =
    isNoNarrower(mark.backend, other.backend) &&
    isNoNarrower(mark.shape, other.shape) &&
    isNoNarrower(mark.source, other.source)
  const isLong = mark.from <= other.from && mark.to >= other.to && mark.at >= other.at
  return isWide && isLong && (mark.kind === 'purge' || other.kind === 'stale')
}

const isNoNarrower = (wide: string | undefined, narrow: string | undefined): boolean =>
  wide === undefined || wide === narrow

/** One mark of a backend (of a data source, where all are) instead of several: it covers them all, and more. Refetching is safe, forgetting is not. */
export function folded(marks: readonly [Mark, ...Mark[]]): Mark {
  const { backend, source } = marks[0]
  const isOfOneSource = source !== undefined && marks.every((mark) => mark.source === source)
  return {
    kind: marks.some(({ kind }) => kind === 'purge') ? 'purge' : 'stale',
    ...(backend !== undefined && { backend }),
    ...(isOfOneSource && { source }),
    from: Math.min(...marks.map(({ from }) => from)),
    to: Math.max(...marks.map(({ to }) => to)),
    at: Math.max(...marks.map(({ at }) => at)),
  }
}
