/**
 * Clocks of nodes differ. Buckets fetched by a node whose clock is ahead seem to come from the future, where they would
 * count as absent, and every node would fetch them itself. Within a tolerance such a bucket counts as fetched now. That
 * is never later than its own clock states: it stays fresh beyond its TTL by at most the difference of the clocks.
 */
import type { EpochMs } from '../core/clock.ts'
import type { Pane } from '../core/pane.ts'
import { join } from '../core/pane-join.ts'
import type { Found } from './store.ts'

/** Two nodes, each up to 5 s off. An instant further ahead gives no information about age. */
export const maxSkewMs = 10_000

/** The same buckets, with clocks of now where theirs are ahead of it by no more than the tolerance. */
export function notAhead(found: Found, now: EpochMs): Found {
  if (!found.panes.some((pane) => isAhead(pane, now))) return found
  return { ...found, panes: found.panes.map((pane) => (isAhead(pane, now) ? setBack(pane, now) : pane)) }
}

function isAhead({ body, from, to }: Pane, now: EpochMs): boolean {
  const first = body.clocksAt - body.from
  for (let at = first + from; at < first + to; at++) if (isTolerable(body.f64[at]!, now)) return true
  return false
}

function setBack(pane: Pane, now: EpochMs): Pane {
  const copy = join([pane])
  const { f64, clocksAt, buckets } = copy.body
  for (let at = clocksAt; at < clocksAt + buckets; at++) {
    const clock = f64[at]!
    // The fraction holds the limits that the database set.
    if (isTolerable(clock, now)) f64[at] = now - (Math.ceil(clock) - clock)
  }
  return copy
}

const isTolerable = (clock: EpochMs, now: EpochMs): boolean => clock > now && clock <= now + maxSkewMs
