/** Policies whose TTLs rise and fall with age, as learned ones do. */
import type { TtlPolicy } from '../ttl/policy.ts'

export interface PlateauOptions {
  /** Pairs of an age and the TTL from then on, in order of age; below the first age the TTL is the first one. */
  readonly ttls: readonly (readonly [ageMs: number, ttlMs: number])[]
  readonly settledAgeMs: number
  /** TTLs of at least two of these lapse at its multiples. */
  readonly epochMs?: number
}

export function plateauPolicy({ ttls, settledAgeMs, epochMs }: PlateauOptions): TtlPolicy {
  return {
    name: 'plateaus',
    isMonotone: false,
    settledAgeMs,
    capMs: Math.max(...ttls.map(([, ttlMs]) => ttlMs)),
    ttl: (ageMs) => (ttls.findLast(([from]) => from <= ageMs) ?? ttls[0]!)[1],
    plateaus: {
      endOf: (ageMs) => ttls.find(([from]) => from > ageMs)?.[0] ?? Number.POSITIVE_INFINITY,
      lapseOf: (fetchedAt, ttlMs) =>
        epochMs === undefined || ttlMs < 2 * epochMs
          ? fetchedAt + ttlMs
          : (Math.floor(fetchedAt / epochMs) + 1) * epochMs,
    },
  }
}
