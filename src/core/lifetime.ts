/**
 * How long the database itself permits to cache a response (RFC 9111), or that a bucket has the TTL of one that is not over
 * yet, carried in the clock of each bucket. Clocks are whole milliseconds. Limits are a fraction of a millisecond that is subtracted, so they travel with the
 * bucket's clock through joins, stores, tiers and nodes, and no format has a field for them. A clock without a fraction
 * has no limits.
 *
 * Compared with whole instants, `<=` and `>` give the same result for a clock with limits as for its `fetchedAt`. For
 * `<`, `>=` and differences use `fetchedAtOf`.
 */
import type { EpochMs } from './clock.ts'

export interface LifetimeLimits {
  /** Whole seconds after the fetch, at least 1; infinite where the database sets no limit. */
  readonly seconds: number
  /** Once it is no longer fresh it may not be served, not even in an outage. */
  readonly mustRevalidate: boolean
}

export const noLimits: LifetimeLimits = { seconds: Number.POSITIVE_INFINITY, mustRevalidate: false }

/** Fractions are multiples of this: exact in a double until the year 2109. */
const steps = 2048

/**
 * The clock of a response that was requested at `fetchedAt`; fractions of a millisecond, which some clocks have, are
 * dropped.
 */
export function clockWith(fetchedAt: EpochMs, { seconds, mustRevalidate }: LifetimeLimits): EpochMs {
  const level = seconds === Number.POSITIVE_INFINITY ? 0 : levelOf(seconds)
  return Math.floor(fetchedAt) - (2 * level + (mustRevalidate ? 1 : 0)) / steps
}

/** NaN where the bucket is absent. */
export const fetchedAtOf = (clock: EpochMs): EpochMs => Math.ceil(clock)

/** Infinite where the database set no limit. */
export function lifetimeMsOf(clock: EpochMs): number {
  const level = codeOf(clock) >> 1
  return level === 0 || level === floorLevel ? Number.POSITIVE_INFINITY : 1000 * secondsOf(level)
}

/**
 * The clock of a bucket that has the floor of the policy for its TTL, whatever its age: an empty one at the end of an answer,
 * whose data may only be late. Where the database set a limit too, the shorter of both is kept as a limit, for the floor of now.
 */
export function withFloorTtl(clock: EpochMs, floorMs: number): EpochMs {
  const [fetchedAt, lifetimeMs] = [fetchedAtOf(clock), lifetimeMsOf(clock)]
  if (lifetimeMs <= floorMs) return clock
  const limits = { seconds: Math.max(1, Math.floor(floorMs / 1000)), mustRevalidate: mustRevalidate(clock) }
  if (lifetimeMs < Number.POSITIVE_INFINITY) return clockWith(fetchedAt, limits)
  return fetchedAt - (2 * floorLevel + (limits.mustRevalidate ? 1 : 0)) / steps
}

export const hasFloorTtl = (clock: EpochMs): boolean => codeOf(clock) >> 1 === floorLevel

export const mustRevalidate = (clock: EpochMs): boolean => (codeOf(clock) & 1) === 1

const codeOf = (clock: EpochMs): number => (Math.ceil(clock) - clock) * steps

/**
 * Seconds in ten bits: seven digits and an exponent. Exact up to 127 s; above that rounded down by less than 1/64, because a
 * limit may be kept too well, but not exceeded. More than 23 days count as 23 days.
 */
function levelOf(seconds: number): number {
  const bounded = Math.min(seconds, maxSeconds)
  const exponent = Math.max(0, 25 - Math.clz32(bounded))
  return 64 * exponent + (bounded >> exponent)
}

function secondsOf(level: number): number {
  const exponent = Math.max(0, (level >> 6) - 1)
  return (level - 64 * exponent) << exponent
}

const maxSeconds = 126 << 14
/** Not a number of seconds: see `withFloorTtl`. */
const floorLevel = 1023
