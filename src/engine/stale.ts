/** What may still be served when the database does not answer: buckets within `max stale`, up to the outage. */
import type { EpochMs } from '../core/clock.ts'
import type { Freshness } from '../core/coverage.ts'
import { endOf, type Grid } from '../core/grid.ts'
import type { Interval } from '../core/interval.ts'
import { clockOf, type Pane } from '../core/pane.ts'

export interface StaleRules {
  readonly grid: Grid
  readonly policy: Freshness
  readonly now: EpochMs
  readonly maxStaleMs: number
}

export interface StaleAnswer {
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
export function staleAnswer(
  window: Interval,
  panes: readonly Pane[],
  rules: StaleRules,
): StaleAnswer | undefined {
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
