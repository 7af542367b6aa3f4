/** When a stored bucket stops being fresh: from its age at fetch, the policy in force, and limits of the database. */
import type { EpochMs } from './clock.ts'
import { endOf, type Grid } from './grid.ts'
import { fetchedAtOf, hasFloorTtl, lifetimeMsOf } from './lifetime.ts'

/** The part of a TTL policy that a lookup needs; its contract is in ttl/policy.ts. */
export interface Freshness {
  ttl(ageMs: number): number
  readonly settledAgeMs: number
  readonly isMonotone: boolean
  readonly plateaus?:
    | { endOf(ageMs: number): number; lapseOf(fetchedAt: EpochMs, ttlMs: number): EpochMs }
    | undefined
}

export interface ExpiryRules {
  readonly grid: Grid
  readonly policy: Freshness
}

/**
 * When a bucket fetched at `clock` stops being fresh: when its TTL ends, or earlier where the database's response set a
 * limit.
 */
export function expiryOf(clock: EpochMs, bucket: number, { grid, policy }: ExpiryRules): EpochMs {
  const fetchedAt = fetchedAtOf(clock)
  const ttl = policy.ttl(fetchedAt - endOf(grid, bucket))
  const lapse = lapseOf(policy, fetchedAt, ttl)
  // Nearly no clock has limits.
  return fetchedAt === clock ? lapse : Math.min(lapse, limitOf(clock, policy))
}

/** When a bucket with limits in its clock stops being fresh at the latest. */
export function limitOf(clock: EpochMs, policy: Freshness): EpochMs {
  const fetchedAt = fetchedAtOf(clock)
  if (hasFloorTtl(clock)) return lapseOf(policy, fetchedAt, policy.ttl(notOver))
  return fetchedAt + lifetimeMsOf(clock)
}

/** The age of a bucket that is not over yet: it has the floor. */
export const notOver = -1

/** When a TTL that began with the fetch ends. */
export const lapseOf = ({ plateaus }: Freshness, fetchedAt: EpochMs, ttlMs: number): EpochMs =>
  plateaus === undefined ? fetchedAt + ttlMs : plateaus.lapseOf(fetchedAt, ttlMs)
