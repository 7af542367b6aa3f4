/** How long the row of a token bucket is kept. A full bucket can be forgotten, because a new one begins full. */
import type { Limit, LimitSource } from './limit.ts'
import { badLimits, checkLimits } from './token-bucket.ts'

export const defaultMultiplier = 7

export interface BucketTtlOptions {
  readonly source: LimitSource
  /** Times the longest time to fill. 0 and less keep rows for ever. */
  readonly multiplier?: number
  /** Remaining tokens, of each limit or by its name; below 0 in debt. Full by default. */
  readonly level?: number | Readonly<Record<string, number>>
}

/**
 * Seconds: at least 1, at least `multiplier` times the time that the slowest limit takes to fill, and at least the time
 * until it is full from `level`, so that no debt is forgotten. `none` where rows are kept: an entity that has limits of
 * its own.
 */
export function bucketTtlSeconds(
  limits: readonly Limit[],
  { source, multiplier = defaultMultiplier, level }: BucketTtlOptions,
): number | 'none' {
  checkLimits(limits)
  if (!Number.isFinite(multiplier)) throw badLimits(`The multiplier is ${multiplier}, not a number.`)
  if (source === 'entity' || multiplier <= 0) return 'none'
  const seconds = limits.map((limit) => {
    const left = typeof level === 'number' ? level : (level?.[limit.name] ?? limit.capacity)
    const tokens = Math.max(multiplier * limit.capacity, limit.capacity - left)
    return (tokens * limit.refillPeriodSeconds) / limit.refillAmount
  })
  return Math.max(1, Math.ceil(Math.max(...seconds)))
}
