/**
 * A witness states that data has not changed since T, verified at V. Data that it vouches for stays fresh beyond its
 * TTL, as long as V is recent and never beyond the operator's cap. Everything here is plain values, so that threads can
 * send them to each other.
 */
import type { EpochMs } from './clock.ts'
import { bucketAt, bucketFrom, endOf, type Grid, startOf } from './grid.ts'
import { type Interval, type Intervals, intersect, intersectAll, isEmpty, subtractAll } from './interval.ts'
import { fetchedAtOf, lifetimeMsOf } from './lifetime.ts'
import type { MarkedShape } from './mark.ts'

/** Milliseconds, half-open; infinite where it has no end. In lists: in time order, disjoint, none of them empty. */
export type TimeSpan = Interval

/** Data of this time is the same since `since`. */
export interface StillSpan extends TimeSpan {
  /** Concerns data fetched after this instant; infinite while it is not confirmed yet. */
  readonly since: EpochMs
}

export interface Vouched {
  /** By data source. */
  readonly still: ReadonlyMap<string, readonly StillSpan[]>
  /** When the last view was requested: its statement holds from then on, until the patience ends. */
  readonly verifiedAt: EpochMs
  readonly patienceMs: number
  /** The operator's absolute cap, counted from when a bucket was fetched. */
  readonly maxAgeMs: number
}

/** The result of one view of a data source, compared with the view before. */
export interface Sighting {
  /** Where nothing is being written. */
  readonly atRest: Intervals
  /** The intervals that differ from the view before. */
  readonly changed: Intervals
  /** When the view arrived. */
  readonly at: EpochMs
  /**
   * Buckets fetched before this instant are beyond the longest permitted age. An earlier `since` is raised to it, so
   * that adjacent spans can be joined.
   */
  readonly uselessBefore: EpochMs
}

/**
 * The spans that are unchanged after another view. A change counts from the view after the one that showed it first: of
 * several servers that answer queries, some may learn of it a little later than the one that was polled.
 */
export function stillAfter(before: readonly StillSpan[], sighting: Sighting): readonly StillSpan[] {
  const { atRest, changed, at, uselessBefore } = sighting
  const kept = before.flatMap(({ since, ...span }) =>
    intersectAll(subtractAll([span], changed), atRest).map((part) => ({
      ...part,
      since: since === Number.POSITIVE_INFINITY ? at : Math.max(since, uselessBefore),
    })),
  )
  const added = subtractAll(atRest, kept).map((part) => ({ ...part, since: Number.POSITIVE_INFINITY }))
  return joined([...kept, ...added].sort((a, b) => a.from - b.from))
}

function joined(spans: readonly StillSpan[]): readonly StillSpan[] {
  const all: StillSpan[] = []
  for (const span of spans) {
    const last = all.at(-1)
    if (last?.to === span.from && last.since === span.since) all[all.length - 1] = { ...last, to: span.to }
    else all.push(span)
  }
  return all
}

/** The spans that are unchanged in both data sources. */
export function stillInBoth(a: readonly StillSpan[], b: readonly StillSpan[]): readonly StillSpan[] {
  const both: StillSpan[] = []
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const part = intersect(a[i]!, b[j]!)
    if (!isEmpty(part)) both.push({ ...part, since: Math.max(a[i]!.since, b[j]!.since) })
    if (a[i]!.to < b[j]!.to) i++
    else j++
  }
  return both
}

/** A witness' word about the buckets of one question. */
export interface VouchedBuckets {
  /** In time order, disjoint. */
  readonly runs: readonly VouchedRun[]
  readonly verifiedAt: EpochMs
  readonly until: EpochMs
  readonly maxAgeMs: number
}

export interface VouchedRun extends Interval {
  readonly since: EpochMs
}

/** The parts of a plan that describe the source data of its buckets. */
export interface VouchedQuestion
  extends Pick<MarkedShape, 'grid' | 'sources' | 'knowsAllSources' | 'lookbackMs' | 'lookaheadMs'> {
  readonly window: Interval
}

/** Undefined without a statement: only cells count that are computed solely from known data of their own time. */
export function vouchedBuckets(vouched: Vouched, question: VouchedQuestion): VouchedBuckets | undefined {
  const { grid, window, sources, knowsAllSources, lookbackMs, lookaheadMs = 0 } = question
  if (!knowsAllSources || lookbackMs !== 0 || lookaheadMs !== 0 || grid.kind !== 'cell') return undefined
  const [first, ...others] = sources.map((source) => vouched.still.get(source) ?? [])
  if (first === undefined) return undefined
  const { verifiedAt, patienceMs, maxAgeMs } = vouched
  const runs = runsOf(others.reduce(stillInBoth, first), grid, window)
  return runs.length === 0 ? undefined : { runs, verifiedAt, until: verifiedAt + patienceMs, maxAgeMs }
}

/** A witness' word about all data of one time. */
export interface VouchedSpan {
  /** Concerns answers generated after this instant. */
  readonly since: EpochMs
  readonly until: EpochMs
  readonly maxAgeMs: number
}

/** The parts of a plan that describe the source data of an answer that is cached as a whole. */
export interface VouchedObject extends Pick<MarkedShape, 'sources' | 'knowsAllSources'> {
  readonly span?: TimeSpan
}

/** Undefined where some of the data is not known, or not at rest. */
export function vouchedSpan(vouched: Vouched, object: VouchedObject): VouchedSpan | undefined {
  const { span, sources, knowsAllSources } = object
  if (span === undefined || !knowsAllSources) return undefined
  const [first, ...others] = sources.map((source) => vouched.still.get(source) ?? [])
  const since = first && stillSince(others.reduce(stillInBoth, first), span)
  if (since === undefined) return undefined
  const { verifiedAt, patienceMs, maxAgeMs } = vouched
  return { since, until: verifiedAt + patienceMs, maxAgeMs }
}

/** The latest `since` of the parts that a span lies in; undefined where it does not lie in them as a whole. */
function stillSince(parts: readonly StillSpan[], { from, to }: TimeSpan): EpochMs | undefined {
  let covered = from
  let since = Number.NEGATIVE_INFINITY
  for (const part of parts) {
    if (part.to <= covered) continue
    if (part.from > covered) return undefined
    since = Math.max(since, part.since)
    covered = part.to
    if (covered >= to) return since === Number.POSITIVE_INFINITY ? undefined : since
  }
  return undefined
}

/** The buckets that lie in spans as a whole; one that lies in several has the latest `since` of them. */
function runsOf(spans: readonly StillSpan[], grid: Grid, window: Interval): readonly VouchedRun[] {
  const range = { from: startOf(grid, window.from), to: startOf(grid, window.to) }
  const runs: VouchedRun[] = []
  /** A bucket that is covered from its start to `to`, where a span ends. */
  let cut: (StillSpan & { readonly bucket: number }) | undefined
  for (const each of spans) {
    const span = { ...intersect(each, range), since: each.since }
    if (isEmpty(span)) continue
    if (cut?.to === span.from) {
      const since = Math.max(cut.since, span.since)
      const { bucket } = cut
      if (span.to < endOf(grid, bucket)) {
        cut = { ...cut, to: span.to, since }
        continue
      }
      runs.push({ from: bucket, to: bucket + 1, since })
    }
    const [from, to] = [bucketFrom(grid, span.from), bucketAt(grid, span.to)]
    if (from < to) runs.push({ from, to, since: span.since })
    const start = startOf(grid, to)
    cut = start >= span.from && start < span.to ? { ...span, from: start, bucket: to } : undefined
  }
  return runs
}

/** Until when a witness keeps a settled bucket fresh that was fetched at `clock`; no longer than the database permits. */
export function vouchedUntil({ until, maxAgeMs }: VouchedBuckets, clock: EpochMs): EpochMs {
  const fetchedAt = fetchedAtOf(clock)
  return Math.min(until, fetchedAt + maxAgeMs, fetchedAt + lifetimeMsOf(clock))
}

/** The run that vouches for a bucket fetched at `clock`. */
export const runVouchingFor = (
  { runs }: VouchedBuckets,
  bucket: number,
  clock: EpochMs,
): VouchedRun | undefined =>
  runs.find(({ from, to, since }) => from <= bucket && bucket < to && since < clock)
