/**
 * Laying a new pane over stored ones: per bucket the newer clock wins. Pure, so that every engine that keeps panes
 * shares it.
 */
import type { EpochMs } from '../core/clock.ts'
import type { Interval } from '../core/interval.ts'
import { clockOf, type Pane, slice } from '../core/pane.ts'
import { haveSameFrame, join } from '../core/pane-join.ts'

/** Panes no longer than this are joined with their neighbours, so that a rolling window does not fall to pieces. */
const maxJoinedBuckets = 256
const maxJoinedBytes = 4 * 1024 * 1024

/**
 * The panes after `incoming` was laid over `stored` (disjoint, in time order, of one frame), in time order. Where
 * the frames differ, the older side counts as absent. A stored clock that lies ahead of `now` (the wall clock was set
 * back) is none: it would win for as long as it takes time to catch up.
 */
export function layOver(stored: readonly Pane[], incoming: Pane, now = Number.POSITIVE_INFINITY): Pane[] {
  if (stored.some((pane) => !haveSameFrame(pane, incoming))) {
    const newest = newestClock(incoming)
    return stored.some((pane) => newestClock(pane) > newest) ? [...stored] : presentParts(incoming)
  }
  const tiled = presentParts(incoming).reduce((panes, part) => tile(panes, part, now), [...stored])
  return consolidate(tiled)
}

/** As `layOver`, without joining: for panes that are read once or twice, and must not cost a copy. */
export function layLoosely(stored: readonly Pane[], incoming: Pane): Pane[] {
  if (stored.some((pane) => !haveSameFrame(pane, incoming))) return layOver(stored, incoming)
  return presentParts(incoming).reduce(
    (panes, part) => tile(panes, part, Number.POSITIVE_INFINITY),
    [...stored],
  )
}

/** From the first bucket of an interval that is missing to the last one. */
export function gapIn(panes: readonly Pane[], interval: Interval): Interval | undefined {
  let { from, to } = interval
  for (const pane of panes) if (pane.from <= from && pane.to > from) from = pane.to
  for (const pane of panes.toReversed()) if (pane.to >= to && pane.from < to) to = pane.from
  return from < to ? { from, to } : undefined
}

/** All of a key, for engines that take bucket numbers. */
export const everything: Interval = { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER }

export function clip(panes: readonly Pane[], interval: Interval): Pane[] {
  const parts: Pane[] = []
  for (const pane of panes) {
    const part = slice(pane, interval)
    if (part.from < part.to) parts.push(part)
  }
  return parts
}

export const countBuckets = (runs: readonly Interval[]): number =>
  runs.reduce((sum, run) => sum + run.to - run.from, 0)

/** The rest of `stored` after the buckets of an interval that were fetched at or before an instant are cut out. */
export function cutOut(
  stored: readonly Pane[],
  interval: Interval,
  fetchedUntil = Number.POSITIVE_INFINITY,
): Pane[] {
  return stored.flatMap((pane) =>
    [
      slice(pane, { from: pane.from, to: interval.from }),
      ...fetchedAfter(slice(pane, interval), fetchedUntil),
      slice(pane, { from: interval.to, to: pane.to }),
    ].filter((part) => part.from < part.to),
  )
}

const fetchedAfter = (pane: Pane, instant: EpochMs): Pane[] =>
  instant === Number.POSITIVE_INFINITY ? [] : partsWhere(pane, (bucket) => clockOf(pane, bucket) > instant)

/** Of the buckets that are there: an absent one has the clock NaN, which is newer than nothing. */
export function newestClock(pane: Pane): EpochMs {
  let newest = Number.NEGATIVE_INFINITY
  for (let bucket = pane.from; bucket < pane.to; bucket++) {
    const clock = clockOf(pane, bucket)
    if (clock > newest) newest = clock
  }
  return newest
}

/** The runs of a pane without absent buckets: only they are stored. */
const presentParts = (pane: Pane): Pane[] =>
  partsWhere(pane, (bucket) => !Number.isNaN(clockOf(pane, bucket)))

function tile(stored: readonly Pane[], incoming: Pane, now: EpochMs): Pane[] {
  const staying = stored.flatMap((pane) => partsThatStay(pane, incoming, now))
  const winning = staying.filter((pane) => pane.from < incoming.to && pane.to > incoming.from)
  return [...staying, ...subtract(incoming, winning)].sort((a, b) => a.from - b.from)
}

function partsThatStay(pane: Pane, incoming: Pane, now: EpochMs): Pane[] {
  if (pane.to <= incoming.from || pane.from >= incoming.to) return [pane]
  return partsWhere(pane, (bucket) => {
    if (bucket < incoming.from || bucket >= incoming.to) return true
    const clock = clockOf(pane, bucket)
    return clock <= now && clock > clockOf(incoming, bucket)
  })
}

/** The longest runs of a pane whose buckets all fulfil a condition. */
function partsWhere(pane: Pane, isFulfilled: (bucket: number) => boolean): Pane[] {
  const parts: Pane[] = []
  let from = pane.from
  while (from < pane.to) {
    const isWanted = isFulfilled(from)
    let to = from + 1
    while (to < pane.to && isFulfilled(to) === isWanted) to++
    if (isWanted) parts.push(slice(pane, { from, to }))
    from = to
  }
  return parts
}

const subtract = (pane: Pane, holes: readonly Interval[]): Pane[] =>
  holes.reduce<Pane[]>((parts, hole) => cutOut(parts, hole), [pane])

/** Joins adjacent panes while they are short, and copies the rest of a body of which most is no longer wanted. */
export function consolidate(panes: readonly Pane[]): Pane[] {
  const groups: Pane[][] = []
  for (const pane of panes) {
    const group = groups[groups.length - 1]
    if (group !== undefined && isJoinable(group, pane)) group.push(pane)
    else groups.push([pane])
  }
  return groups.map((group) => (group.length > 1 || isMostlyWaste(group[0]!) ? join(group) : group[0]!))
}

function isJoinable(group: readonly Pane[], pane: Pane): boolean {
  if (group[group.length - 1]!.to !== pane.from) return false
  if (pane.to - group[0]!.from > maxJoinedBuckets) return false
  return [...group, pane].reduce((sum, each) => sum + liveBytes(each), 0) <= maxJoinedBytes
}

/** A slice of a body, by its share of buckets. */
const liveBytes = (pane: Pane): number =>
  (pane.body.bytes.byteLength * (pane.to - pane.from)) / Math.max(1, pane.body.buckets)

const isMostlyWaste = (pane: Pane): boolean => (pane.to - pane.from) * 2 < pane.body.buckets
