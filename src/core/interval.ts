/**
 * A half-open run of buckets [from, to), by bucket number on one grid (see grid.ts).
 * Half-open everywhere: an interval is empty iff from >= to.
 */
export interface Interval {
  readonly from: number
  readonly to: number
}

export const lengthOf = (interval: Interval): number => Math.max(0, interval.to - interval.from)

export const isEmpty = (interval: Interval): boolean => interval.from >= interval.to

export const contains = (outer: Interval, inner: Interval): boolean =>
  outer.from <= inner.from && inner.to <= outer.to

export const intersect = (a: Interval, b: Interval): Interval => ({
  from: Math.max(a.from, b.from),
  to: Math.min(a.to, b.to),
})
