/**
 * A TTL that gains `riseMs` with every doubling of age: TTL(age) = min(cap, floor + rise · log2(1 + age / unit)).
 * The careful one: a bucket never stops being looked at again, however old, before the cap is reached.
 */
import { requireOption } from '../core/errors.ts'
import type { TtlPolicy } from './policy.ts'

export interface LogarithmicOptions {
  readonly floorMs: number
  readonly riseMs: number
  /** The age at which the first rise is complete. */
  readonly unitMs: number
  readonly capMs: number
}

export function logarithmic({ floorMs, riseMs, unitMs, capMs }: LogarithmicOptions): TtlPolicy {
  requireOption(
    floorMs > 0 && riseMs > 0 && unitMs > 0 && capMs >= floorMs && capMs < Number.POSITIVE_INFINITY,
    'a logarithmic policy needs 0 < floor ≤ cap < ∞, a rise and a unit',
    'Give a floor, a rise and a unit above 0, and a cap that is not below the floor.',
  )
  const settledAgeMs = floorMs >= capMs ? 0 : settledAge((capMs - floorMs) / riseMs, unitMs)
  return {
    name: 'logarithmic',
    isMonotone: true,
    capMs,
    settledAgeMs,
    ttl(ageMs) {
      if (ageMs >= settledAgeMs) return capMs
      if (ageMs <= 0) return floorMs
      const risen = Math.floor(floorMs + riseMs * Math.log2(1 + ageMs / unitMs))
      return Math.max(floorMs, Math.min(capMs, risen))
    },
  }
}

/**
 * A cap that is out of reach is never settled; an age beyond the range of a clock expresses that without an infinity.
 */
const settledAge = (rises: number, unitMs: number): number =>
  Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(unitMs * (2 ** rises - 1)))
