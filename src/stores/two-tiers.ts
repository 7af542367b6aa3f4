/** Combines the panes that two tiers have of a key. Pure. */
import type { Interval, Intervals } from '../core/interval.ts'
import { clockOf, type Pane } from '../core/pane.ts'
import type { Found } from './store.ts'
import { clip, gapIn, layOver } from './tile.ts'

export function absentIn(near: Found | undefined, interval: Interval): Intervals {
  const gap = gapIn(near?.panes ?? [], interval)
  return gap === undefined ? [] : [gap]
}

/** The far store's panes, where one of their buckets is newer than the same bucket near. */
export function newerIn(found: readonly Found[], near: Found | undefined): Found | undefined {
  const panes = found.flatMap((each) => each.panes).filter((pane) => hasNewer(pane, near?.panes ?? []))
  const [first] = found
  // A record without buckets is news where nothing was known.
  return first === undefined || (panes.length === 0 && near !== undefined)
    ? undefined
    : { panes, shape: first.shape }
}

function hasNewer(pane: Pane, near: readonly Pane[]): boolean {
  for (let bucket = pane.from; bucket < pane.to; bucket++) {
    const other = near.find(({ from, to }) => from <= bucket && bucket < to)
    if (other === undefined || !(clockOf(other, bucket) >= clockOf(pane, bucket))) return true
  }
  return false
}

export function united(interval: Interval, { near, far }: { near: Found | undefined; far: Found }): Found {
  const panes = far.panes.reduce<Pane[]>((stored, pane) => layOver(stored, pane), [...(near?.panes ?? [])])
  return { panes: clip(panes, interval), shape: near?.shape ?? far.shape }
}

/** Buckets that were fetched at or before an instant, each once. */
export function countFetched(panes: readonly Pane[], until = Number.POSITIVE_INFINITY): number {
  const buckets = new Set<number>()
  for (const pane of panes) {
    for (let bucket = pane.from; bucket < pane.to; bucket++)
      if (clockOf(pane, bucket) <= until) buckets.add(bucket)
  }
  return buckets.size
}
