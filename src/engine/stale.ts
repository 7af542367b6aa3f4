/** What may still be served when the database does not answer: buckets within `max stale`, up to the outage. */
import type { Plan } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import type { Freshness } from '../core/coverage.ts'
import { resetDecision, type StaleReason } from '../core/decision.ts'
import { endOf, type Grid, startOf } from '../core/grid.ts'
import { type Interval, lengthOf } from '../core/interval.ts'
import { type BucketMark, markedRun } from '../core/mark.ts'
import { clockOf, type Pane } from '../core/pane.ts'
import type { ShapeRecord } from '../stores/store.ts'
import { marksOver } from './marks.ts'
import { inOrder, readNow, withOneFrame } from './stored.ts'
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
  const panes = inOrder(withOneFrame(found).panes, plan.window)
  const now = clock.now()
  const { reach } = found.shape
  const marks = marksOver(options, key, plan)
  const stale = staleAnswer(plan.window, panes, { grid: plan.grid, policy, now, maxStaleMs, reach, marks })
  if (stale === undefined) return undefined
  // Another request has brought everything meanwhile: that is a hit.
  const isStored = (panes.at(-1)?.to ?? 0) >= plan.window.to
  if (isStored && stale.staleForMs < 0 && stale.usable.to === plan.window.to) return 'again'
  resetDecision(decision)
  decision.outcome = 'stale'
  decision.reason = why.reason
  decision.detail = why.detail
  decision.buckets = lengthOf(plan.window)
  decision.ageSeconds = Math.floor((now - stale.oldestClock) / 1000)
  decision.ttlSeconds = -Math.max(0, Math.ceil(stale.staleForMs / 1000))
  if (stale.usable.to < plan.window.to) decision.missing = missingRange(plan, stale.usable.to)
  const warnings = [warningOf(why.reason, decision.missing)]
  const body = backend.recompose(plan, inOrder(panes, stale.usable), { warnings })
  return { kind: 'panes', headers: found.shape.headers, body }
}

const iso = (instant: EpochMs): string => new Date(instant).toISOString()

const missingRange = ({ grid, window }: Plan, from: number): string =>
  `${iso(startOf(grid, from))}/${iso(startOf(grid, window.to - 1))}`

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
  /** The window's beginning, up to the first bucket that cannot be served. */
  readonly usable: Interval
  /** How long ago the stalest bucket in it stopped being fresh. */
  readonly staleForMs: number
  readonly oldestClock: EpochMs
}

/**
 * The longest usable beginning of a window. Undefined where there is none, or where what is missing behind it is
 * more than the outage explains: its oldest bucket must have ended no longer than `max stale` ago.
 */
function staleAnswer(window: Interval, panes: readonly Pane[], rules: StaleRules): StaleAnswer | undefined {
  let to = window.from
  let staleForMs = Number.NEGATIVE_INFINITY
  let oldestClock = Number.POSITIVE_INFINITY
  while (to < window.to) {
    const clock = knownClock(to, panes, rules)
    const lateness = latenessOf(clock, to, rules)
    if (!(lateness <= rules.maxStaleMs)) break
    staleForMs = Math.max(staleForMs, lateness)
    oldestClock = Math.min(oldestClock, clock)
    to++
  }
  if (to === window.from) return undefined
  if (to < window.to && rules.now - endOf(rules.grid, to) > rules.maxStaleMs) return undefined
  return { usable: { from: window.from, to }, staleForMs, oldestClock }
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
