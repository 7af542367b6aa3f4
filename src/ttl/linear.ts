/**
 * A TTL that is a share of the age: TTL(age) = clamp(slope · age, floor, cap). Keeps staleness constant where lateness
 * has a heavy tail (rate of late changes k / age): the slope is then about 2ε / k for a staleness budget ε.
 */
import { requireOption } from '../core/errors.ts'
import type { TtlPolicy } from './policy.ts'

export interface LinearOptions {
  readonly floorMs: number
  /** Milliseconds of TTL for each millisecond of age; above 0. */
  readonly slope: number
  readonly capMs: number
}

export function linear({ floorMs, slope, capMs }: LinearOptions): TtlPolicy {
  requireOption(
    floorMs > 0 && slope > 0 && capMs >= floorMs && capMs < Number.POSITIVE_INFINITY,
    'a linear policy needs 0 < floor ≤ cap < ∞ and a slope',
    'Give a floor and a slope above 0, and a cap that is not below the floor.',
  )
  const settledAgeMs = floorMs >= capMs ? 0 : Math.ceil(capMs / slope)
  return {
    name: 'linear',
    isMonotone: true,
    capMs,
    settledAgeMs,
    ttl: (ageMs) =>
      ageMs >= settledAgeMs ? capMs : Math.min(capMs, Math.max(floorMs, Math.floor(slope * ageMs))),
  }
}
