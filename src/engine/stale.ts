/** What may still be served when the database does not answer: buckets within `max stale`, up to the outage. */
import type { Plan } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import type { Freshness } from '../core/coverage.ts'
import { resetDecision, type StaleReason } from '../core/decision.ts'
import { endOf, type Grid, startOf } from '../core/grid.ts'
import { countOf, type Intervals } from '../core/interval.ts'
import { type BucketMark, markedRun } from '../core/mark.ts'
import { clockOf, type Pane } from '../core/pane.ts'
import type { ShapeRecord } from '../stores/store.ts'
import { askedBy } from './gaps.ts'
import { marksOver } from './marks.ts'
import { partsOf, readNow, withOneFrame } from './stored.ts'
import type { Answer, IntervalCacheOptions, Trip } from './trip.ts'

/**
 * The stale answer to a request, or undefined where nothing stored may be served. Only what a store can say at once
 * is asked for: the memory of this process holds whatever was served lately.
 */
export function serveStale(
  options: IntervalCacheOptions,
  trip: Trip,
  why: { readonly reason: StaleReason; readonly detail: string },
): Answer | 'again' | undefined {
  const { key, plan, request, decision, policy, maxStaleMs } = trip
  const { store, backend, clock } = options
  if (request.demands.notBefore > Number.NEGATIVE_INFINITY) return undefined
  const found = readNow(store, key, plan.window)
  if (found === undefined) return undefined
  // Behind an edge there may be more, but not without it.
  const whole = plan.edges === undefined ? plan.whole : plan.whole.slice(0, 1)
  if (whole.length === 0) return undefined
  const panes = partsOf(withOneFrame(found).panes, whole)
  const now = clock.now()
  const { reach } = found.shape
  const marks = marksOver(options, key, plan)
  const stale = staleAnswer(whole, panes, { grid: plan.grid, policy, now, maxStaleMs, reach, marks })
  if (stale === undefined) return undefined
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
  const missing = missingFrom(plan, stale.to)
  if (missing !== undefined) decision.missing = missing
  const warnings = [warningOf(why.reason, decision.missing)]
  const body = backend.recompose(plan, partsOf(panes, [{ from: plan.window.from, to: stale.to }]), {
    warnings,
  })
  return { kind: 'panes', headers: found.shape.headers, body }
}

const iso = (instant: EpochMs): string => new Date(instant).toISOString()

/** What is behind the end of the answer, or, where nothing is, what of the first bucket was asked for. */
function missingFrom({ grid, window, edges }: Plan, end: number): string | undefined {
  const head = edges?.buckets[0]
  if (end < window.to) return `${iso(startOf(grid, end))}/${iso(startOf(grid, window.to - 1))}`
  return head && `${iso(startOf(grid, head.from))}/${iso(startOf(grid, head.to - 1))}`
}

function warningOf(reason: StaleReason, missing: string | undefined): string {
  const what = reason === 'database_slow' ? 'is slow' : 'does not answer'
  const end = missing === undefined ? '' : `, and nothing is known of ${missing}`
  return `windowpane: the database ${what}; this answer is stale${end}`
}

interface StaleRules {
  readonly grid: Grid
  readonly policy: Freshness
  readonly now: EpochMs
  readonly maxStaleMs: number
  /** How far the last fetch reached. */
  readonly reach: ShapeRecord['reach']
  readonly marks: readonly BucketMark[]
}

interface StaleAnswer {
  /** Where it ends: at the first bucket that cannot be served. */
  readonly to: number
  /** How long ago the stalest bucket in it stopped being fresh. */
  readonly staleForMs: number
  readonly oldestClock: EpochMs
}

/**
 * The longest usable beginning of a window. Undefined where there is none, or where what is missing behind it is
 * more than the outage explains: its oldest bucket must have ended no longer than `max stale` ago.
 */
function staleAnswer(whole: Intervals, panes: readonly Pane[], rules: StaleRules): StaleAnswer | undefined {
  let staleForMs = Number.NEGATIVE_INFINITY
  let oldestClock = Number.POSITIVE_INFINITY
  const isUsable = (bucket: number): boolean => {
    const clock = knownClock(bucket, panes, rules)
    const lateness = latenessOf(clock, bucket, rules)
    if (!(lateness <= rules.maxStaleMs)) return false
    staleForMs = Math.max(staleForMs, lateness)
    oldestClock = Math.min(oldestClock, clock)
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
  const { reach, grid, policy } = rules
  // Unsettled empty buckets at the end of a fetch are not stored; that they were empty is known all the same.
  const wasEmpty = reach !== undefined && bucket < reach.to && panes.every((pane) => pane.to <= bucket)
  return wasEmpty && reach.at - endOf(grid, bucket) < policy.settledAgeMs ? reach.at : Number.NaN
}

/** Milliseconds since a bucket stopped being fresh (negative while it is); NaN where it is absent or purged. */
function latenessOf(clock: EpochMs, bucket: number, { grid, policy, now, marks }: StaleRules): number {
  if (!(clock <= now)) return Number.NaN
  const lateness = now - clock - policy.ttl(clock - endOf(grid, bucket))
  if (marks.length === 0) return lateness
  const { mark } = markedRun(bucket, clock, marks)
  if (mark === undefined) return lateness
  // What was marked as changed was fresh until then at most: nobody may take it for a hit.
  return mark.kind === 'purge' ? Number.NaN : Math.max(lateness, now - mark.at, 0)
}
