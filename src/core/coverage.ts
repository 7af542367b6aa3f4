/**
 * What a lookup found over the asked window: runs of fresh, stale and absent buckets. Freshness is decided here, at
 * read, from the age at fetch and the policy in force.
 */
import type { EpochMs } from './clock.ts'
import { bucketAt, endOf, type Grid } from './grid.ts'
import { type Interval, type Intervals, intersect, isEmpty } from './interval.ts'
import { fetchedAtOf, lifetimeMsOf } from './lifetime.ts'
import { type BucketMark, markedRun } from './mark.ts'
import type { Pane } from './pane.ts'
import { type VouchedBuckets, vouchedUntil } from './witness.ts'

export type BucketState = 'fresh' | 'stale' | 'absent'

export interface CoverageRun extends Interval {
  readonly state: BucketState
  /** All buckets of a settled run had reached the policy's cap when they were fetched. */
  readonly settled: boolean
  /** Why its buckets are absent or stale although they are stored. */
  readonly mark?: BucketMark
  /** Its buckets are past their TTLs, and fresh because a witness says that they have not changed. */
  readonly vouched?: true
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
  /** Buckets fetched at or after this are fresh, whatever their TTL: the request waited for their fetch. */
  readonly acceptFrom?: EpochMs | undefined
  /** What was said about the question's buckets since they were fetched. */
  readonly marks: readonly BucketMark[]
  /** What a witness says about them; only asked where settled buckets are past their TTLs. */
  readonly vouched?: (() => VouchedBuckets | undefined) | undefined
}

export interface Coverage {
  /** In time order; together they are what was asked for. */
  readonly runs: readonly CoverageRun[]
  /** When the oldest fresh bucket was fetched, and when the first fresh bucket stops being so; Infinity without any. */
  readonly oldestFresh: EpochMs
  readonly freshUntil: EpochMs
}

/** When a bucket fetched at `clock` stops being fresh: after its TTL, or earlier where the database said so. */
export function expiryOf(clock: EpochMs, bucket: number, { grid, policy }: Expiring): EpochMs {
  const fetchedAt = fetchedAtOf(clock)
  const ttl = policy.ttl(fetchedAt - endOf(grid, bucket))
  // Nearly no clock has limits.
  return fetchedAt + (fetchedAt === clock ? ttl : Math.min(ttl, lifetimeMsOf(clock)))
}

type Expiring = Pick<LookupRules, 'grid' | 'policy'>

/** What is known of `windows`; `panes` are disjoint and in time order. */
export function cover(windows: Intervals, panes: readonly Pane[], rules: LookupRules): Coverage {
  const judge = new Judge(rules)
  for (let i = 0; i < windows.length; i++) coverOne(windows[i]!, panes, judge)
  return judge
}

function coverOne(window: Interval, panes: readonly Pane[], judge: Judge): void {
  let next = window.from
  for (const pane of panes) {
    const from = Math.max(pane.from, next)
    const to = Math.min(pane.to, window.to)
    if (from >= to) continue
    if (next < from) append(judge.runs, { from: next, to: from, state: 'absent', settled: false })
    judge.pane(pane, from, to)
    next = to
  }
  if (next < window.to) append(judge.runs, { from: next, to: window.to, state: 'absent', settled: false })
}

class Judge implements Coverage {
  readonly runs: GrowingRun[] = []
  oldestFresh: EpochMs = Number.POSITIVE_INFINITY
  freshUntil: EpochMs = Number.POSITIVE_INFINITY
  readonly #rules: LookupRules
  #vouched: VouchedBuckets | 'not asked' | undefined = 'not asked'

  constructor(rules: LookupRules) {
    this.#rules = rules
  }

  /** Buckets fetched together share a clock: they are judged as one run. */
  pane({ body }: Pane, from: number, to: number): void {
    const clocks = body.f64
    const shift = body.clocksAt - body.from
    for (let begin = from; begin < to; ) {
      const clock = clocks[begin + shift]!
      let end = begin + 1
      // NaN (absent) equals nothing, itself included: such buckets are judged one by one.
      while (end < to && clocks[end + shift] === clock) end++
      const run = { from: begin, to: end }
      if (this.#rules.marks.length === 0) this.#run(run, clock)
      else this.#marked(run, clock)
      begin = end
    }
  }

  /** What a mark says comes before what the policy says. */
  #marked(run: Interval, clock: EpochMs): void {
    let from = run.from
    while (from < run.to) {
      const { mark, to: end } = markedRun(from, clock, this.#rules.marks)
      const to = Math.min(end, run.to)
      if (mark?.kind === 'purge') append(this.runs, { from, to, state: 'absent', settled: false, mark })
      else this.#run({ from, to }, clock, mark)
      from = to
    }
  }

  /**
   * Within one clock the age at fetch falls from bucket to bucket, and no policy gives a younger bucket a longer TTL:
   * so fresh buckets come first, and settled ones come first. Two binary searches replace a test per bucket.
   */
  #run(run: Interval, clock: EpochMs, mark?: BucketMark): void {
    const { runs } = this
    const { now, notBefore } = this.#rules
    if (!(clock <= now)) {
      append(runs, { from: run.from, to: run.to, state: 'absent', settled: false })
      return
    }
    const mayBeFresh = mark === undefined && fetchedAtOf(clock) >= notBefore
    const freshUntil = mayBeFresh ? this.#firstNotFresh(run, clock) : run.from
    const settledUntil = this.#firstNotSettled(run, clock)
    const inner = Math.min(freshUntil, settledUntil)
    if (freshUntil > run.from) {
      const expiry = expiryOf(clock, freshUntil - 1, this.#rules)
      this.oldestFresh = Math.min(this.oldestFresh, fetchedAtOf(clock))
      this.freshUntil = Math.min(this.freshUntil, expiry)
    }
    if (run.from < inner) append(runs, { from: run.from, to: inner, state: 'fresh', settled: true })
    if (inner < freshUntil) append(runs, { from: inner, to: freshUntil, state: 'fresh', settled: false })
    if (freshUntil === run.to) return
    const outer = Math.max(freshUntil, settledUntil)
    const stale = { state: 'stale', ...(mark && { mark }) } as const
    const lapsed = { from: freshUntil, to: outer }
    const left = mayBeFresh && this.#rules.vouched !== undefined ? this.#vouchFor(lapsed, clock) : lapsed
    append(runs, { ...left, ...stale, settled: true })
    append(runs, { from: outer, to: run.to, ...stale, settled: false })
  }

  /** Settled buckets past their TTLs; returns what is left behind the last that a witness vouches for. */
  #vouchFor(lapsed: Interval, clock: EpochMs): Interval {
    if (isEmpty(lapsed)) return lapsed
    if (this.#vouched === 'not asked') this.#vouched = this.#rules.vouched?.()
    const vouched = this.#vouched
    const { now } = this.#rules
    if (vouched === undefined || now < vouched.verifiedAt) return lapsed
    const until = vouchedUntil(vouched, clock)
    if (!(now < until)) return lapsed
    let { from } = lapsed
    for (const run of vouched.runs) {
      const part = intersect(run, lapsed)
      if (isEmpty(part) || !(run.since < clock)) continue
      append(this.runs, { from, to: part.from, state: 'stale', settled: true })
      append(this.runs, { ...part, state: 'fresh', settled: true, vouched: true })
      this.oldestFresh = Math.min(this.oldestFresh, fetchedAtOf(clock))
      this.freshUntil = Math.min(this.freshUntil, until)
      from = part.to
    }
    return { from, to: lapsed.to }
  }

  #firstNotFresh(run: Interval, clock: EpochMs): number {
    const { now } = this.#rules
    if (this.#wasAwaited(clock)) return run.to
    // Nearly always all of a run is fresh, or none of it.
    if (now < expiryOf(clock, run.to - 1, this.#rules)) return run.to
    return firstNot(run, (bucket) => now < expiryOf(clock, bucket, this.#rules))
  }

  /** Whether the request waited for this fetch. It accepts the buckets although their TTL has expired, but not beyond the lifetime that the database set. */
  #wasAwaited(clock: EpochMs): boolean {
    const { now, acceptFrom } = this.#rules
    if (acceptFrom === undefined) return false
    const fetchedAt = fetchedAtOf(clock)
    return fetchedAt >= acceptFrom && now < fetchedAt + lifetimeMsOf(clock)
  }

  /** Ages fall by one step from bucket to bucket: no search is needed. */
  #firstNotSettled(run: Interval, clock: EpochMs): number {
    const { grid, policy } = this.#rules
    const last = bucketAt(grid, fetchedAtOf(clock) - policy.settledAgeMs)
    const until = grid.kind === 'point' ? last + 1 : last
    return Math.min(run.to, Math.max(run.from, until))
  }
}

/** The first bucket of a run for which a predicate that holds for a beginning of the run, but not for all, no longer does. */
function firstNot(run: Interval, holds: (bucket: number) => boolean): number {
  let [low, high] = [run.from, run.to - 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) low = middle + 1
    else high = middle
  }
  return low
}

/** Panes fetched one after the other have many clocks: a run grows in its place. */
type GrowingRun = CoverageRun & { to: number }

/** `run` is kept, and may grow. */
function append(runs: GrowingRun[], run: GrowingRun): void {
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
 * What has to be fetched: from the first bucket that is not fresh to the end of the window, but without a suffix
 * that is fresh and settled. Undefined on a full hit.
 */
export function gapOf(runs: readonly CoverageRun[]): Interval | undefined {
  const first = runs.find((run) => run.state !== 'fresh')
  if (first === undefined) return undefined
  const last = runs.findLast((run) => !(run.state === 'fresh' && run.settled))!
  return { from: first.from, to: last.to }
}

/** What has to be fetched where one query can ask for several intervals: every bucket that is not fresh, and no other. */
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

/** How many buckets of each state there are. */
export function countStates(runs: readonly CoverageRun[]): Record<BucketState, number> {
  const counts = { fresh: 0, stale: 0, absent: 0 }
  for (const run of runs) counts[run.state] += run.to - run.from
  return counts
}
