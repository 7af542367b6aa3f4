/** What may still be served when the database does not answer: buckets within `max stale`, up to the outage. */
import type { Plan } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import type { Freshness } from '../core/coverage.ts'
import type { StaleReason } from '../core/decision.ts'
import { endOf, type Grid, startOf } from '../core/grid.ts'
import type { Interval } from '../core/interval.ts'
import { clockOf, type Pane } from '../core/pane.ts'
import type { Broken } from './ports.ts'
import { inOrder, readNow, withOneFrame } from './stored.ts'
import type { Answer, IntervalCacheOptions, Trip } from './trip.ts'

/**
 * The stale answer to a request, or undefined where nothing stored may be served. Only what a store can say at once
 * is asked for: the memory of this process holds whatever was served lately.
 */
export function serveStale(options: IntervalCacheOptions, trip: Trip, broken: Broken): Answer | undefined {
  const { key, plan, request, decision } = trip
  const { store, backend, policy, clock, maxStaleMs } = options
  if (request.demands.notBefore > Number.NEGATIVE_INFINITY) return undefined
  const found = readNow(store, key, plan.window)
  if (found === undefined) return undefined
  const panes = inOrder(withOneFrame(found).panes, plan.window)
  const now = clock.now()
  const stale = staleAnswer(plan.window, panes, { grid: plan.grid, policy, now, maxStaleMs })
  if (stale === undefined) return undefined
  decision.outcome = 'stale'
  decision.reason = broken.reason
  decision.detail = broken.detail
  decision.ageSeconds = Math.floor((now - stale.oldestClock) / 1000)
  decision.ttlSeconds = -Math.ceil(stale.staleForMs / 1000)
  if (stale.usable.to < plan.window.to) decision.missing = missingRange(plan, stale.usable.to)
  const warnings = [warningOf(broken.reason, decision.missing)]
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
  let staleForMs = 0
  let oldestClock = Number.POSITIVE_INFINITY
  scan: for (const pane of panes) {
    if (pane.from > to) break
    for (; to < Math.min(pane.to, window.to); to++) {
      const clock = clockOf(pane, to)
      const lateness = latenessOf(clock, to, rules)
      if (!(lateness <= rules.maxStaleMs)) break scan
      staleForMs = Math.max(staleForMs, lateness)
      oldestClock = Math.min(oldestClock, clock)
    }
  }
  if (to === window.from) return undefined
  if (to < window.to && rules.now - endOf(rules.grid, to) > rules.maxStaleMs) return undefined
  return { usable: { from: window.from, to }, staleForMs, oldestClock }
}

/** Milliseconds since a bucket stopped being fresh (negative while it is); NaN where it is absent. */
function latenessOf(clock: EpochMs, bucket: number, { grid, policy, now }: StaleRules): number {
  return clock <= now ? now - clock - policy.ttl(clock - endOf(grid, bucket)) : Number.NaN
}
