/** When a stored bucket stops being fresh: from its age at fetch, the policy in force, and limits of the database. */
import type { EpochMs } from './clock.ts'
import { endOf, type Grid } from './grid.ts'
import { fetchedAtOf, lifetimeMsOf } from './lifetime.ts'

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
  return fetchedAt === clock ? lapse : Math.min(lapse, fetchedAt + lifetimeMsOf(clock))
}

/** When a TTL that began with the fetch ends. */
export const lapseOf = ({ plateaus }: Freshness, fetchedAt: EpochMs, ttlMs: number): EpochMs =>
  plateaus === undefined ? fetchedAt + ttlMs : plateaus.lapseOf(fetchedAt, ttlMs)
