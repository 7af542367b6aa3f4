/**
 * For data that changes at the same rate however old it is: the longest TTL that keeps a staleness budget. One TTL for every
 * bucket that is over; a bucket that is not over yet still fills, and gets the floor.
 */
import { requireOption } from '../core/errors.ts'
import { publishedLadder } from './ladder.ts'
import type { TtlPolicy } from './policy.ts'
import { normalizedTtl } from './staleness-budget.ts'

export interface RateOptions {
  /** The mean time between two changes of a bucket. */
  readonly changesEveryMs: number
  /** Of the buckets that viewers are shown, this share may be out of date: 0.1 is one in ten. */
  readonly budget: number
  /**
   * The shortest TTL, even if it breaks the budget. By default, TTLs of open buckets are 5 s or as long as the budget
   * allows.
   */
  readonly floorMs?: number | undefined
  /** The longest TTL; none unless given. */
  readonly capMs?: number | undefined
}

export function rate({ changesEveryMs, budget, floorMs, capMs }: RateOptions): TtlPolicy {
  const [shortest, longest] = [floorMs ?? 1, capMs ?? Number.MAX_SAFE_INTEGER]
  const isRate = changesEveryMs > 0 && changesEveryMs < Number.POSITIVE_INFINITY
  const isRange = shortest > 0 && longest >= shortest && longest < Number.POSITIVE_INFINITY
  requireOption(
    isRate && budget > 0 && budget < 1 && isRange,
    'a rate policy needs a time between changes, 0 < budget < 1 and 0 < floor ≤ cap < ∞',
    'Give the mean time between changes, a budget above 0 and below 1, and a cap that is not below the floor.',
  )
  const ttlMs = Math.min(longest, Math.max(shortest, Math.floor(normalizedTtl(budget) * changesEveryMs)))
  const openMs = Math.min(ttlMs, floorMs ?? publishedLadder.floorMs)
  return {
    name: 'rate',
    isMonotone: true,
    capMs: ttlMs,
    settledAgeMs: 0,
    ttl: (ageMs) => (ageMs < 0 ? openMs : ttlMs),
    assumes: { rate: 1 / changesEveryMs, budget },
  }
}
