/**
 * The ladder without rungs: it passes through the ladder's TTL at every whole doubling of age, and rises between them.
 * TTL(age) = clamp(floor · 2^(age / doubling − 1), floor, cap). Keeps staleness constant where the rate of late
 * changes halves with every `doublingMs` of age.
 */
import { requireOption } from '../core/errors.ts'
import type { LadderOptions } from './ladder.ts'
import type { TtlPolicy } from './policy.ts'

export type ExponentialOptions = Omit<LadderOptions, 'settledAgeMs'>

export function exponential({ floorMs, doublingMs, capMs }: ExponentialOptions): TtlPolicy {
  requireOption(
    floorMs > 0 && doublingMs > 0 && capMs >= floorMs && capMs < Number.POSITIVE_INFINITY,
    'an exponential policy needs 0 < floor ≤ cap < ∞ and a doubling period',
    'Give a floor and a doubling period above 0, and a cap that is not below the floor.',
  )
  const settledAgeMs = floorMs >= capMs ? 0 : Math.ceil(doublingMs * (1 + Math.log2(capMs / floorMs)))
  return {
    name: 'exponential',
    isMonotone: true,
    capMs,
    settledAgeMs,
    // Logarithm and power do not undo each other exactly: the cap is reached by age, not by arithmetic.
    ttl(ageMs) {
      if (ageMs >= settledAgeMs) return capMs
      if (ageMs <= doublingMs) return floorMs
      return Math.max(floorMs, Math.min(capMs, Math.floor(floorMs * 2 ** (ageMs / doublingMs - 1))))
    },
  }
}
