/** Reads the store and validates its panes: late, failing and sloppy stores are handled here. */
import { hullOf, type Interval, type Intervals, isWithin } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import { allOf, andThen, type MaybePromise } from '../core/maybe.ts'
import { clockOf, type Pane, slice } from '../core/pane.ts'
import { haveSameFrame } from '../core/pane-join.ts'
import type { Found, Store } from '../stores/store.ts'

/** One request is one sighting of its shape, however often it reads. A store that fails here fails to read, too. */
export function noteSighting(store: Store, key: Key): void {
  try {
    store.seen?.(key)
  } catch {}
}

/** The most concurrent reads of a store; with more runs, the buckets between them are read too. */
const maxReads = 16

/**
 * The stored panes of several runs: the buckets between them may be many, and every absent one is looked for in a far
 * tier. For no runs, nothing.
 */
export function readRuns(
  runs: Intervals,
  read: (run: Interval) => MaybePromise<Found | undefined>,
): MaybePromise<Found | undefined> {
  if (runs.length === 1) return read(runs[0]!)
  if (runs.length === 0) return undefined
  if (runs.length > maxReads) return read(hullOf(runs))
  return andThen(allOf(runs.map((run) => attempt(() => read(run)))), together)
}

/** An exception becomes a rejection: the other reads continue to their end. */
function attempt<T>(action: () => MaybePromise<T>): MaybePromise<T> {
  try {
    return action()
  } catch (error) {
    return Promise.reject(error)
  }
}

function together(all: readonly (Found | undefined)[]): Found | undefined {
  const found = all.filter((each) => each !== undefined)
  const last = found.at(-1)
  return last && { panes: found.flatMap(({ panes }) => panes), shape: last.shape }
}

/** Panes of unlike frames do not join: all but those of the newest (or of the given one) count as absent. */
export function withOneFrame(found: Found, given?: Pane): Found {
  const some = given ?? found.panes[0]
  if (some === undefined || found.panes.every((pane) => haveSameFrame(pane, some))) return found
  const frame = given ?? newestOf(found.panes)
  return { ...found, panes: found.panes.filter((pane) => haveSameFrame(pane, frame)) }
}

export const newestOf = (panes: readonly Pane[]): Pane =>
  panes.reduce((a, b) => (clockOf(b, b.to - 1) > clockOf(a, a.to - 1) ? b : a))

/** The parts of panes that lie in an interval, clipped so that no bucket is taken twice. */
function inOrder(panes: readonly Pane[], interval: Interval): readonly Pane[] {
  if (panes.length === 1 && isWithin(panes[0]!, interval)) return panes
  const parts: Pane[] = []
  let from = interval.from
  for (const pane of panes) {
    if (pane.to <= from || pane.from >= interval.to) continue
    const part = slice(pane, { from, to: interval.to })
    parts.push(part)
    from = part.to
  }
  return parts
}

export const partsOf = (panes: readonly Pane[], intervals: Intervals): readonly Pane[] =>
  intervals.length === 1
    ? inOrder(panes, intervals[0]!)
    : intervals.flatMap((interval) => inOrder(panes, interval))
