/** Stale serving when the database does not answer: buckets within `max stale`, up to the outage. */

import type { HeaderList, Plan } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import type { LookupRules } from '../core/coverage.ts'
import { inTime } from '../core/deadline.ts'
import { type Decision, resetDecision, type StaleReason } from '../core/decision.ts'
import { expiryOf } from '../core/expiry.ts'
import { endOf, type Grid, startOf } from '../core/grid.ts'
import { countOf, hullOf, type Interval, type Intervals, intersectAll } from '../core/interval.ts'
import { fetchedAtOf, hasFloorTtl, mustRevalidate } from '../core/lifetime.ts'
import { markedRun } from '../core/mark.ts'
import { clockOf, type Pane } from '../core/pane.ts'
import { iso } from '../core/text.ts'
import { runVouchingFor, type VouchedBuckets, vouchedUntil } from '../core/witness.ts'
import { readNear } from '../stores/peek.ts'
import type { EmptyEnd, Found, MaybePromise } from '../stores/store.ts'
import { askedBy } from './gaps.ts'
import { partsOf, readRuns, withOneFrame } from './stored.ts'
import type { Answer, IntervalCacheOptions, Trip } from './trip.ts'

/** Stored panes that may be served although they are stale. */
export interface Usable {
  readonly panes: readonly Pane[]
  readonly headers: HeaderList
  readonly stale: StaleRun
}

export interface Why {
  readonly reason: StaleReason
  readonly detail: string
}

/**
 * Undefined where nothing stored may be served. The memory of this process is usually enough, because it holds recently
 * served buckets; otherwise the far tier is queried.
 */
export async function findStale(options: IntervalCacheOptions, trip: Trip): Promise<Usable | undefined> {
  const { store } = options
  const { key, plan, request } = trip
  if (request.demands.notBefore > Number.NEGATIVE_INFINITY) return undefined
  const near = await usableOf(options, trip, (run) => readNear(store, key, run))
  const isEnough = near !== undefined && near.stale.to === servable(plan).at(-1)?.to
  if (isEnough || store.near === undefined) return near
  return (await usableOf(options, trip, (run) => store.read(key, run, [run]))) ?? near
}

/** A store that fails, is late or is not true to its interface has nothing. */
async function usableOf(
  options: IntervalCacheOptions,
  { key, plan, policy, maxStaleMs }: Trip,
  read: (run: Interval) => MaybePromise<Found | undefined>,
): Promise<Usable | undefined> {
  const { clock, storeTimeoutMs } = options
  const whole = servable(plan)
  try {
    const found = await inTime(readRuns(whole, read), clock, storeTimeoutMs)
    if (found === undefined) return undefined
    const panes = partsOf(withOneFrame(found).panes, whole)
    const { emptyEnds = [], headers } = found.shape
    const marks = options.marks.marksFor(key, plan)
    const vouched = options.witness?.vouchedFor(plan)
    const rules = { grid: plan.grid, policy, now: clock.now(), maxStaleMs, emptyEnds, marks, vouched }
    const stale = usableBeginning(whole, panes, rules)
    return stale && { panes, headers, stale }
  } catch {
    return undefined
  }
}

/** The stale answer to a request; `again` where everything is fresh meanwhile. */
export function staleAnswerOf(
  { backend, clock }: IntervalCacheOptions,
  { plan, decision }: Trip,
  { panes, headers, stale, why }: Usable & { readonly why: Why },
): Answer | 'again' {
  const now = clock.now()
  // Another request has brought everything meanwhile: that is a hit.
  const isStored = (panes.at(-1)?.to ?? 0) >= plan.window.to
  if (isStored && stale.staleForMs < 0 && stale.to === plan.window.to && plan.edges === undefined) {
    return 'again'
  }
  resetDecision(decision)
  decision.outcome = 'stale'
  decision.reason = why.reason
  decision.detail = why.detail
  decision.buckets = countOf(askedBy(plan))
  decision.ageSeconds = Math.floor((now - stale.oldestClock) / 1000)
  decision.ttlSeconds = -Math.max(0, Math.ceil(stale.staleForMs / 1000))
  noteMissing(decision, plan, { from: plan.whole[0]!.from, to: stale.to })
  const warnings = [warningOf(why.reason, decision.missing)]
  const body = backend.recompose(plan, partsOf(panes, [{ from: plan.window.from, to: stale.to }]), {
    warnings,
  })
  return { kind: 'panes', headers, body }
}

/** A head edge can be left out, any other ends the answer: behind it there may be more, but not without it. */
function servable({ whole, edges }: Plan): Intervals {
  const first = whole[0]
  const end = first && edges?.buckets.find(({ from }) => from > first.from)
  return end === undefined ? whole : whole.filter(({ from }) => from < end.from)
}

/** The requested ranges before the beginning of the answer and behind its end. */
function noteMissing(decision: Decision, plan: Plan, known: Interval): void {
  const asked = askedBy(plan)
  const outside = [
    { from: Number.NEGATIVE_INFINITY, to: known.from },
    { from: known.to, to: Number.POSITIVE_INFINITY },
  ]
  const missing = outside.map((side) => intersectAll(asked, [side])).filter((runs) => runs.length > 0)
  if (missing.length === 0) return
  decision.known = known
  decision.missingBuckets = missing.reduce((sum, runs) => sum + countOf(runs), 0)
  decision.missing = missing.map((runs) => instantsOf(plan.grid, hullOf(runs))).join(',')
}

const instantsOf = (grid: Grid, { from, to }: Interval): string =>
  `${iso(startOf(grid, from))}/${iso(startOf(grid, to - 1))}`

function warningOf(reason: StaleReason, missing: string | undefined): string {
  const end = missing === undefined ? '' : `, and nothing is known of ${missing}`
  return `windowpane: ${causeOf[reason] ?? 'the database does not answer'}; this answer is stale${end}`
}

const causeOf: Partial<Record<StaleReason, string>> = {
  database_slow: 'the database is slow',
  queue_full: 'the database has as many queries as it may have',
  over_quota: 'the quota for queries to the database is used up',
}

interface StaleRules extends Pick<LookupRules, 'grid' | 'policy' | 'now' | 'marks'> {
  readonly maxStaleMs: number
  readonly emptyEnds: readonly EmptyEnd[]
  readonly vouched: VouchedBuckets | undefined
}

interface StaleRun {
  /** Where it ends: at the first bucket that cannot be served. */
  readonly to: number
  /** How long ago the stalest bucket in it stopped being fresh. */
  readonly staleForMs: number
  readonly oldestClock: EpochMs
}

/**
 * The longest usable beginning of a window. Undefined where there is none, or where more is missing behind it than the
 * outage explains: its oldest bucket must have ended no longer than `max stale` ago.
 */
function usableBeginning(whole: Intervals, panes: readonly Pane[], rules: StaleRules): StaleRun | undefined {
  let staleForMs = Number.NEGATIVE_INFINITY
  let oldestClock = Number.POSITIVE_INFINITY
  const isUsable = (bucket: number): boolean => {
    const clock = knownClock(bucket, panes, rules)
    const lateness = latenessOf(clock, bucket, rules)
    if (!(lateness <= rules.maxStaleMs)) return false
    staleForMs = Math.max(staleForMs, lateness)
    oldestClock = Math.min(oldestClock, fetchedAtOf(clock))
    return true
  }
  const first = firstIn(whole, (bucket) => !isUsable(bucket))
  if (first === whole[0]?.from) return undefined
  if (first !== undefined && rules.now - endOf(rules.grid, first) > rules.maxStaleMs) return undefined
  return { to: first ?? whole.at(-1)!.to, staleForMs, oldestClock }
}

function firstIn(whole: Intervals, is: (bucket: number) => boolean): number | undefined {
  for (const { from, to } of whole)
    for (let bucket = from; bucket < to; bucket++) if (is(bucket)) return bucket
  return undefined
}

/** When a bucket was fetched; NaN where it is absent. */
function knownClock(bucket: number, panes: readonly Pane[], rules: StaleRules): EpochMs {
  for (const pane of panes) {
    if (bucket >= pane.from && bucket < pane.to) return clockOf(pane, bucket)
  }
  return rules.emptyEnds.find(({ from, to }) => bucket >= from && bucket < to)?.at ?? Number.NaN
}

/** Milliseconds since a bucket stopped being fresh (negative while it is); NaN where it is absent or may not be served. */
function latenessOf(clock: EpochMs, bucket: number, rules: StaleRules): number {
  const { now, marks } = rules
  if (!(clock <= now)) return Number.NaN
  const lateness = now - freshUntil(clock, bucket, rules)
  const mark = marks.length === 0 ? undefined : markedRun(bucket, clock, marks).mark
  if (mark?.kind === 'purge') return Number.NaN
  // The database forbids serving it once it is not fresh (must-revalidate, proxy-revalidate, s-maxage).
  if ((lateness >= 0 || mark !== undefined) && mustRevalidate(clock)) return Number.NaN
  // A bucket that was marked as changed was fresh until then at most: it must not count as a hit.
  return mark === undefined ? lateness : Math.max(lateness, now - mark.at, 0)
}

/** A bucket that a witness vouched for until the outage was fresh until then. */
function freshUntil(clock: EpochMs, bucket: number, { grid, policy, vouched }: StaleRules): EpochMs {
  const expiry = expiryOf(clock, bucket, { grid, policy })
  const isSettled = !hasFloorTtl(clock) && fetchedAtOf(clock) - endOf(grid, bucket) >= policy.settledAgeMs
  const isVouchedFor =
    vouched !== undefined && isSettled && runVouchingFor(vouched, bucket, clock) !== undefined
  return isVouchedFor ? Math.max(expiry, vouchedUntil(vouched, clock)) : expiry
}
