/** Runs of buckets that are alike (fresh, stale or absent; settled or not), and the intervals of them that have to be fetched. */
import type { Interval, Intervals } from './interval.ts'
import type { BucketMark } from './mark.ts'

export type BucketState = 'fresh' | 'stale' | 'absent'

export interface CoverageRun extends Interval {
  readonly state: BucketState
  /** All buckets of a settled run had reached the policy's cap when they were fetched. */
  readonly settled: boolean
  /** Why its buckets are absent or stale although they are stored. */
  readonly mark?: BucketMark
  /** Its buckets are past their TTLs, and fresh because a witness states that they have not changed. */
  readonly vouched?: true
}

/** Panes fetched one after the other have many clocks: a run grows in its place. */
export type GrowingRun = CoverageRun & { to: number }

/** `run` is kept, and may grow. */
export function append(runs: GrowingRun[], run: GrowingRun): void {
  if (run.from >= run.to) return
  // Not `runs[-1]`, which the runtime looks up by name.
  const last = runs.length === 0 ? undefined : runs[runs.length - 1]
  if (last !== undefined && isAlike(last, run)) {
    last.to = run.to
  } else {
    runs.push(run)
  }
}

const isAlike = (a: CoverageRun, b: CoverageRun): boolean =>
  a.to === b.from &&
  a.state === b.state &&
  a.settled === b.settled &&
  a.mark === b.mark &&
  a.vouched === b.vouched

/**
 * The interval that has to be fetched: from the first bucket that is not fresh to the end of the window, but without a suffix
 * that is fresh and settled. Undefined on a full hit.
 */
export function gapOf(runs: readonly CoverageRun[]): Interval | undefined {
  const first = runs.find((run) => run.state !== 'fresh')
  if (first === undefined) return undefined
  const last = runs.findLast((run) => !(run.state === 'fresh' && run.settled))!
  return { from: first.from, to: last.to }
}

/**
 * The intervals that have to be fetched where one query can have several: every bucket that is not fresh, and no other.
 */
export function gapsOf(runs: readonly CoverageRun[]): Intervals {
  const gaps: Interval[] = []
  for (const { from, to, state } of runs) {
    if (state === 'fresh') continue
    const last = gaps.at(-1)
    if (last?.to === from) gaps[gaps.length - 1] = { from: last.from, to }
    else gaps.push({ from, to })
  }
  return gaps
}

export function countStates(runs: readonly CoverageRun[]): Record<BucketState, number> {
  const counts = { fresh: 0, stale: 0, absent: 0 }
  for (const run of runs) counts[run.state] += run.to - run.from
  return counts
}
