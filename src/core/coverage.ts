/**
 * The result of a lookup over the requested window: runs of fresh, stale and absent buckets. Freshness is decided here,
 * at read, from the age at fetch and the policy in force.
 */
import type { EpochMs } from './clock.ts'
import { append, type CoverageRun, type GrowingRun } from './coverage-runs.ts'
import { type ExpiryRules, expiryOf, lapseOf, limitOf } from './expiry.ts'
import { endOf, firstYoungerThan } from './grid.ts'
import { type Interval, type Intervals, intersect, isEmpty } from './interval.ts'
import { fetchedAtOf, hasFloorTtl, lifetimeMsOf } from './lifetime.ts'
import { type BucketMark, markedRun } from './mark.ts'
import type { Pane } from './pane.ts'
import { type VouchedBuckets, vouchedUntil } from './witness.ts'

export interface LookupRules extends ExpiryRules {
  readonly now: EpochMs
  /** TTLs have to last until then, where that is before now: the request has looked before. */
  readonly freshAt?: EpochMs | undefined
  /** Buckets fetched before this are not fresh, whatever their TTL (a client's max-age or no-cache). */
  readonly notBefore: EpochMs
  /** Buckets fetched at or after this are fresh, whatever their TTL: the request waited for their fetch. */
  readonly acceptFrom?: EpochMs | undefined
  /** Marks on the shape's buckets. */
  readonly marks: readonly BucketMark[]
  /** The witness' statement about them; only called where settled buckets are past their TTLs. */
  readonly vouched?: (() => VouchedBuckets | undefined) | undefined
}

export interface Coverage {
  /** In time order; together they are the requested window. */
  readonly runs: readonly CoverageRun[]
  /** When the oldest fresh bucket was fetched, and when the first fresh bucket stops being so; Infinity without any. */
  readonly oldestFresh: EpochMs
  readonly freshUntil: EpochMs
  /** When the first bucket that is fresh and settled expires, apart from vouched ones; Infinity without any. */
  readonly settledUntil: EpochMs
}

/** The coverage of `windows`; `panes` are disjoint and in time order. */
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
  settledUntil: EpochMs = Number.POSITIVE_INFINITY
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

  /** A mark takes precedence over the policy. */
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

  #run(run: Interval, clock: EpochMs, mark?: BucketMark): void {
    const { grid, now, notBefore, policy } = this.#rules
    if (!(clock <= now)) {
      append(this.runs, { from: run.from, to: run.to, state: 'absent', settled: false })
      return
    }
    const fetchedAt = fetchedAtOf(clock)
    const isLimited = fetchedAt !== clock
    const settledTo =
      isLimited && hasFloorTtl(clock) ? run.from : firstYoungerThan(grid, policy.settledAgeMs, fetchedAt)
    if (mark !== undefined || fetchedAt < notBefore) {
      this.#stale(run, settledTo, mark)
    } else if (policy.isMonotone && policy.plateaus === undefined) {
      this.#monotone(run, settledTo, clock)
    } else {
      this.#plateaus(run, settledTo, clock)
    }
  }

  /**
   * Within one clock the age at fetch falls from bucket to bucket, and a monotone policy gives no younger bucket a longer
   * TTL: fresh buckets come first, and settled ones come first. Two searches replace a test per bucket.
   */
  #monotone(run: Interval, settledTo: number, clock: EpochMs): void {
    const now = this.#freshAt(clock)
    let freshTo = run.to
    let expiry = expiryOf(clock, run.to - 1, this.#rules)
    // Nearly always all of a run is fresh, or none of it.
    if (!(now < expiry || this.#wasAwaited(clock))) {
      freshTo = firstNot(run, (bucket) => now < expiryOf(clock, bucket, this.#rules))
      if (freshTo > run.from) expiry = expiryOf(clock, freshTo - 1, this.#rules)
    }
    if (freshTo > run.from) {
      this.freshUntil = Math.min(this.freshUntil, expiry)
      if (settledTo > run.from) {
        if (settledTo < freshTo) expiry = expiryOf(clock, settledTo - 1, this.#rules)
        this.settledUntil = Math.min(this.settledUntil, expiry)
      }
      this.#fresh({ from: run.from, to: freshTo }, settledTo, clock)
    }
    if (freshTo < run.to) this.#lapsed({ from: freshTo, to: run.to }, settledTo, clock)
  }

  /**
   * Between two borders of the policy all buckets of a clock have one TTL, and expire together. A policy returns the
   * next border towards older buckets, and runs are listed from old to young: the first pass notes where fresh and
   * stale take turns.
   */
  #plateaus(run: Interval, settledTo: number, clock: EpochMs): void {
    const { grid, policy } = this.#rules
    const now = this.#freshAt(clock)
    const { plateaus } = policy
    const fetchedAt = fetchedAtOf(clock)
    const isAwaited = this.#wasAwaited(clock)
    const oldestMs = fetchedAt - endOf(grid, run.from)
    // `expiryOf` for each plateau would look at the clock's limits again and again.
    const latest = fetchedAt === clock ? Number.POSITIVE_INFINITY : limitOf(clock, policy)
    let first = Number.POSITIVE_INFINITY
    let firstSettled = Number.POSITIVE_INFINITY
    let turns: number[] | undefined
    let isFresh = true
    for (let to = run.to; to > run.from; ) {
      const ageMs = fetchedAt - endOf(grid, to - 1)
      const ttl = policy.ttl(ageMs)
      const expiry = Math.min(lapseOf(policy, fetchedAt, ttl), latest)
      // Without plateaus every bucket is judged on its own.
      const endMs = plateaus === undefined ? ageMs : plateaus.endOf(ageMs)
      const isLast = endMs > oldestMs
      const from = isLast ? run.from : Math.min(to - 1, firstYoungerThan(grid, endMs, fetchedAt))
      if (isFresh !== (isAwaited || now < expiry)) {
        isFresh = !isFresh
        turns ??= []
        turns.push(to)
      }
      if (isFresh) {
        if (expiry < first) first = expiry
        if (from < settledTo && expiry < firstSettled) firstSettled = expiry
      }
      to = from
    }
    this.freshUntil = Math.min(this.freshUntil, first)
    this.settledUntil = Math.min(this.settledUntil, firstSettled)
    for (let from = run.from; from < run.to; isFresh = !isFresh) {
      const part = { from, to: turns?.pop() ?? run.to }
      if (isFresh) this.#fresh(part, settledTo, clock)
      else this.#lapsed(part, settledTo, clock)
      from = part.to
    }
  }

  /** `settledTo`: the end of the settled buckets of a clock. */
  #fresh({ from, to }: Interval, settledTo: number, clock: EpochMs): void {
    this.oldestFresh = Math.min(this.oldestFresh, fetchedAtOf(clock))
    if (from < settledTo)
      append(this.runs, { from, to: Math.min(to, settledTo), state: 'fresh', settled: true })
    if (settledTo < to)
      append(this.runs, { from: Math.max(from, settledTo), to, state: 'fresh', settled: false })
  }

  /** Buckets past their TTLs: a witness may vouch for the settled ones. */
  #lapsed(run: Interval, settledTo: number, clock: EpochMs): void {
    const settled = { from: run.from, to: Math.min(run.to, settledTo) }
    const isAsked = this.#rules.vouched !== undefined && !isEmpty(settled)
    this.#stale({ from: isAsked ? this.#vouchFor(settled, clock) : run.from, to: run.to }, settledTo)
  }

  #stale({ from, to }: Interval, settledTo: number, mark?: BucketMark): void {
    const stale = { state: 'stale', ...(mark && { mark }) } as const
    append(this.runs, { from, to: Math.min(to, settledTo), ...stale, settled: true })
    append(this.runs, { from: Math.max(from, settledTo), to, ...stale, settled: false })
  }

  /** Settled buckets past their TTLs; returns where those begin that are left behind the last that a witness vouches for. */
  #vouchFor(lapsed: Interval, clock: EpochMs): number {
    if (this.#vouched === 'not asked') this.#vouched = this.#rules.vouched?.()
    const vouched = this.#vouched
    const { now } = this.#rules
    if (vouched === undefined || now < vouched.verifiedAt) return lapsed.from
    const until = vouchedUntil(vouched, clock)
    if (!(now < until)) return lapsed.from
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
    return from
  }

  /** When a TTL has to last: not beyond the lifetime that the database set. */
  #freshAt(clock: EpochMs): EpochMs {
    const { now, freshAt = now } = this.#rules
    return freshAt < now && now < fetchedAtOf(clock) + lifetimeMsOf(clock) ? freshAt : now
  }

  /** Whether the request waited for this fetch. It accepts the buckets although their TTL has expired, but not beyond the lifetime that the database set. */
  #wasAwaited(clock: EpochMs): boolean {
    const { now, acceptFrom } = this.#rules
    if (acceptFrom === undefined) return false
    const fetchedAt = fetchedAtOf(clock)
    return fetchedAt >= acceptFrom && now < fetchedAt + lifetimeMsOf(clock)
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
