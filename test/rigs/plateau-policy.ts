/** Policies whose TTLs rise and fall with age, as learned ones do. */
import type { TtlPolicy } from '../../src/ttl/policy.ts'

export interface PlateauOptions {
  /** Pairs of an age and the TTL from then on, in order of age; below the first age the TTL is the first one. */
  readonly ttls: readonly (readonly [ageMs: number, ttlMs: number])[]
  readonly settledAgeMs: number
  /** TTLs of at least two of these lapse at its multiples. */
  readonly epochMs?: number
}

/** Buckets of ten minutes to an hour of age change more than others. */
export const unsteadyPolicy = (): TtlPolicy =>
  plateauPolicy({
    ttls: [
      [0, 5_000],
      [120_000, 40_000],
      [600_000, 15_000],
      [3_600_000, 300_000],
    ],
    settledAgeMs: 900_000,
    epochMs: 20_000,
  })

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
