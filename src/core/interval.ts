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

export const isWithin = (inner: Interval, outer: Interval): boolean =>
  outer.from <= inner.from && inner.to <= outer.to

export const intersect = (a: Interval, b: Interval): Interval => ({
  from: Math.max(a.from, b.from),
  to: Math.min(a.to, b.to),
})

/** Runs of buckets in time order, disjoint, none of them empty. */
export type Intervals = readonly Interval[]

export const nothing: Intervals = []

export function countOf(intervals: Intervals): number {
  let count = 0
  for (const interval of intervals) count += lengthOf(interval)
  return count
}

/** From the first to the last; of nothing, an empty interval. */
export const hullOf = (intervals: Intervals): Interval => ({
  from: intervals[0]?.from ?? 0,
  to: intervals.at(-1)?.to ?? 0,
})

export function intersectAll(a: Intervals, b: Intervals): Intervals {
  const shared: Interval[] = []
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const part = intersect(a[i]!, b[j]!)
    if (!isEmpty(part)) shared.push(part)
    if (a[i]!.to < b[j]!.to) i++
    else j++
  }
  return shared
}

/** The parts of `a` that are not in `b`. */
export function subtractAll(a: Intervals, b: Intervals): Intervals {
  const left: Interval[] = []
  let j = 0
  for (const { from, to } of a) {
    let next = from
    while (j < b.length && b[j]!.to <= from) j++
    for (let k = j; k < b.length && b[k]!.from < to; k++) {
      if (b[k]!.from > next) left.push({ from: next, to: b[k]!.from })
      next = Math.max(next, b[k]!.to)
    }
    if (next < to) left.push({ from: next, to })
  }
  return left
}

/** The union; adjacent runs become one. */
export function uniteAll(a: Intervals, b: Intervals): Intervals {
  const all: Interval[] = []
  for (const interval of [...a, ...b].sort((one, other) => one.from - other.from)) {
    const last = all.at(-1)
    if (last === undefined || interval.from > last.to) all.push(interval)
    else if (interval.to > last.to) all[all.length - 1] = { from: last.from, to: interval.to }
  }
  return all
}
