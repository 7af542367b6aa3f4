/**
 * How long the database itself permits to cache a response (RFC 9111), carried in the clock of each of its buckets.
 * Clocks are whole milliseconds. Limits are a fraction of a millisecond that is subtracted, so they travel with the
 * bucket's clock through joins, stores, tiers and nodes, and no format has a field for them. A clock without a fraction
 * has no limits.
 *
 * Compared with whole instants, `<=` and `>` give the same result for a clock with limits as for its `fetchedAt`. For
 * `<`, `>=` and differences use `fetchedAtOf`.
 */
import type { EpochMs } from './clock.ts'

export interface Limits {
  /** Whole seconds after the fetch, at least 1; infinite where the database sets no limit. */
  readonly seconds: number
  /** Once it is no longer fresh it may not be served, not even in an outage. */
  readonly mustRevalidate: boolean
}

export const noLimits: Limits = { seconds: Number.POSITIVE_INFINITY, mustRevalidate: false }

/** Fractions are multiples of this: exact in a double until the year 2109. */
const steps = 2048

/**
 * The clock of a response that was requested at `fetchedAt`; fractions of a millisecond, which some clocks have, are
 * dropped.
 */
export function clockWith(fetchedAt: EpochMs, { seconds, mustRevalidate }: Limits): EpochMs {
  const level = seconds === Number.POSITIVE_INFINITY ? 0 : levelOf(seconds)
  return Math.floor(fetchedAt) - (2 * level + (mustRevalidate ? 1 : 0)) / steps
}

/** NaN where the bucket is absent. */
export const fetchedAtOf = (clock: EpochMs): EpochMs => Math.ceil(clock)

/** Infinite where the database set no limit. */
export function lifetimeMsOf(clock: EpochMs): number {
  const level = codeOf(clock) >> 1
  return level === 0 ? Number.POSITIVE_INFINITY : 1000 * secondsOf(level)
}

export const mustRevalidate = (clock: EpochMs): boolean => (codeOf(clock) & 1) === 1

const codeOf = (clock: EpochMs): number => (Math.ceil(clock) - clock) * steps

/**
 * Seconds in ten bits: seven digits and an exponent. Exact up to 127 s; above that rounded down by less than 1/64, because a
 * limit may be kept too well, but not exceeded. More than 24 days count as 24 days.
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

const maxSeconds = 127 << 14
