/**
 * What a lookup found over the asked window: runs of fresh, stale and absent buckets. Freshness is decided here, at
 * read, from the age at fetch and the policy in force.
 */
import type { EpochMs } from './clock.ts'
import { endOf, type Grid } from './grid.ts'
import type { Interval } from './interval.ts'
import { type BucketMark, markedRun } from './mark.ts'
import type { Pane } from './pane.ts'

export type BucketState = 'fresh' | 'stale' | 'absent'

export interface CoverageRun extends Interval {
  readonly state: BucketState
  /** All buckets of a settled run had reached the policy's cap when they were fetched. */
  readonly settled: boolean
  /** Why its buckets are absent or stale although they are stored. */
  readonly mark?: BucketMark
}

/** The part of a TTL policy that a lookup needs; ttl/policy.ts says what it promises. */
export interface Freshness {
  ttl(ageMs: number): number
  readonly settledAgeMs: number
}

export interface LookupRules {
  readonly grid: Grid
  readonly policy: Freshness
  readonly now: EpochMs
  /** Buckets fetched before this are not fresh, whatever their TTL (a client's max-age or no-cache). */
  readonly notBefore: EpochMs
  /** What was said about the question's buckets since they were fetched. */
  readonly marks: readonly BucketMark[]
}

export interface Coverage {
  /** In time order, without gaps. */
  readonly runs: readonly CoverageRun[]
  /** The earliest clock of a fresh bucket, and when the first fresh bucket stops being so; Infinity without any. */
  readonly oldestFresh: EpochMs
  readonly freshUntil: EpochMs
}

interface OpenCoverage {
  readonly runs: CoverageRun[]
  oldestFresh: EpochMs
  freshUntil: EpochMs
}

/** What is known of `window`; `panes` are disjoint and in time order. */
export function cover(window: Interval, panes: readonly Pane[], rules: LookupRules): Coverage {
  const coverage: OpenCoverage = {
    runs: [],
    oldestFresh: Number.POSITIVE_INFINITY,
    freshUntil: Number.POSITIVE_INFINITY,
  }
  const { runs } = coverage
  let next = window.from
  for (const pane of panes) {
    const from = Math.max(pane.from, next)
    const to = Math.min(pane.to, window.to)
    if (from >= to) continue
    append(runs, { from: next, to: from, state: 'absent', settled: false })
    coverPane(coverage, { body: pane.body, from, to }, rules)
    next = to
  }
  append(runs, { from: next, to: window.to, state: 'absent', settled: false })
  return coverage
}

/** Buckets fetched together share a clock: they are judged as one run. */
function coverPane(coverage: OpenCoverage, pane: Pane, rules: LookupRules): void {
  const clocks = pane.body.f64
  const shift = pane.body.clocksAt - pane.body.from
  let from = pane.from
  while (from < pane.to) {
    const clock = clocks[from + shift]!
    let to = from + 1
    // NaN (absent) equals nothing, itself included: such buckets are judged one by one.
    while (to < pane.to && clocks[to + shift] === clock) to++
    if (rules.marks.length === 0) judge(coverage, { from, to }, { ...rules, clock })
    else judgeMarked(coverage, { from, to }, { ...rules, clock })
    from = to
  }
}

/** What a mark says comes before what the policy says. */
function judgeMarked(coverage: OpenCoverage, run: Interval, rules: Judged): void {
  const { clock, marks } = rules
  let from = run.from
  while (from < run.to) {
    const { mark, to: end } = markedRun(from, clock, marks)
    const to = Math.min(end, run.to)
    if (mark?.kind === 'purge') append(coverage.runs, { from, to, state: 'absent', settled: false, mark })
    else judge(coverage, { from, to }, { ...rules, clock, ...(mark && { mark }) })
    from = to
  }
}

type Judged = LookupRules & { readonly clock: EpochMs; readonly mark?: BucketMark }

/**
 * Within one clock the age at fetch falls from bucket to bucket, and no policy gives a younger bucket a longer TTL:
 * so fresh buckets come first, and settled ones come first. Two binary searches replace a test per bucket.
 */
function judge(coverage: OpenCoverage, run: Interval, rules: Judged): void {
  const { runs } = coverage
  const { grid, policy, now, clock, mark } = rules
  if (!(clock <= now)) {
    append(runs, { ...run, state: 'absent', settled: false })
    return
  }
  const isFresh = (bucket: number) =>
    mark === undefined && clock >= rules.notBefore && now < clock + policy.ttl(clock - endOf(grid, bucket))
  const isSettled = (bucket: number) => clock - endOf(grid, bucket) >= policy.settledAgeMs
  const freshUntil = partition(run, isFresh)
  const settledUntil = partition(run, isSettled)
  const inner = Math.min(freshUntil, settledUntil)
  if (freshUntil > run.from) {
    const expiry = clock + policy.ttl(clock - endOf(grid, freshUntil - 1))
    coverage.oldestFresh = Math.min(coverage.oldestFresh, clock)
    coverage.freshUntil = Math.min(coverage.freshUntil, expiry)
  }
  append(runs, { from: run.from, to: inner, state: 'fresh', settled: true })
  append(runs, { from: inner, to: freshUntil, state: 'fresh', settled: false })
  if (freshUntil === run.to) return
  const outer = Math.max(freshUntil, settledUntil)
  const stale = { state: 'stale', ...(mark && { mark }) } as const
  append(runs, { from: freshUntil, to: outer, ...stale, settled: true })
  append(runs, { from: outer, to: run.to, ...stale, settled: false })
}

/** The first bucket of a run for which a predicate that holds for a beginning of the run no longer holds. */
function partition(run: Interval, holds: (bucket: number) => boolean): number {
  if (holds(run.to - 1)) return run.to
  let [low, high] = [run.from, run.to - 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) low = middle + 1
    else high = middle
  }
  return low
}

function append(runs: CoverageRun[], run: CoverageRun): void {
  if (run.from >= run.to) return
  const last = runs[runs.length - 1]
  if (last !== undefined && isAlike(last, run)) {
    runs[runs.length - 1] = { ...last, to: run.to }
  } else {
    runs.push(run)
  }
}

const isAlike = (a: CoverageRun, b: CoverageRun): boolean =>
  a.state === b.state && a.settled === b.settled && a.mark === b.mark

/**
 * What has to be fetched: from the first bucket that is not fresh to the end of the window, but without a suffix
 * that is fresh and settled. Undefined on a full hit.
 */
export function gapOf(runs: readonly CoverageRun[]): Interval | undefined {
  const first = runs.find((run) => run.state !== 'fresh')
  if (first === undefined) return undefined
  const last = runs.findLast((run) => !(run.state === 'fresh' && run.settled))!
  return { from: first.from, to: last.to }
}

/** How many buckets of each state there are. */
export function countStates(runs: readonly CoverageRun[]): Record<BucketState, number> {
  const counts = { fresh: 0, stale: 0, absent: 0 }
  for (const run of runs) counts[run.state] += run.to - run.from
  return counts
}
