/** When a node that waits for another node's flight looks at its row: four or five times, however long the flight takes. */
import type { ClaimRow } from './claim-rows.ts'

const minPollMs = 10
const maxPollMs = 2000

export interface Wait {
  readonly waitedMs: number
  /** Since the flight began, by the clock of this node: the holder's may differ by seconds. */
  readonly flownMs: number
  /** How long the flight before took; 0 where that is not known. */
  readonly expectedMs: number
  /** The remaining time of the holder's lease. */
  readonly leaseMs: number
}

/**
 * Half of the time until a flight is expected to land, and at least a fifth of the time since it began: the number of
 * polls does not grow with the latency of the database, and no request waits much longer than that.
 */
export function pollDelay({ waitedMs, flownMs, expectedMs, leaseMs }: Wait): number {
  const elapsedMs = Math.min(Math.max(flownMs, waitedMs), waitedMs + expectedMs)
  const delayMs = expectedMs === 0 ? elapsedMs / 2 : Math.max((expectedMs - elapsedMs) / 2, elapsedMs / 5)
  return Math.max(Math.min(delayMs, maxPollMs, leaseMs), minPollMs)
}

/** How long the last flight in a row took that brought something, by its holder's own clock. */
export function durationIn({ flights }: ClaimRow): number {
  const last = flights.findLast(({ landed }) => landed?.isShared)
  return last === undefined ? 0 : Math.max(0, last.landed!.at - last.startedAt)
}
