/** When a stored bucket stops being fresh: from its age at fetch, the policy in force, and limits of the database. */
import type { EpochMs } from './clock.ts'
import { endOf, type Grid } from './grid.ts'
import { fetchedAtOf, hasFloorTtl, lifetimeMsOf } from './lifetime.ts'

/** The part of a TTL policy that a lookup needs. */
export interface Freshness {
  /**
   * The TTL in milliseconds of a bucket that was `ageMs` old when it was fetched, counted from its end. A bucket
   * that was not over yet has a negative age and gets the floor.
   */
  ttl(ageMs: number): number
  /**
   * Buckets at least this old when fetched are settled: their TTL has reached its cap, or the policy defines them as
   * settled.
   */
  readonly settledAgeMs: number
  /** Whether the TTL never decreases with age: a lookup then searches, instead of judging every bucket. */
  readonly isMonotone: boolean
  /** How the TTL goes up and down, where it is not monotone. */
  readonly plateaus?: Plateaus | undefined
}

/** A TTL that may fall with age: it is constant between one age and the next, and may let buckets lapse earlier. */
interface Plateaus {
  /** The lowest age above `ageMs` from which the TTL may be another one; infinite behind the last. */
  endOf(ageMs: number): number
  /** When a bucket with this TTL lapses: at `fetchedAt + ttlMs`, or earlier, so that neighbours lapse together. */
  lapseOf(fetchedAt: EpochMs, ttlMs: number): EpochMs
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
