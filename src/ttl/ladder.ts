/**
 * The published ladder: the TTL doubles with every further `doublingMs` of age, from a floor up to a cap.
 * TTL(age) = clamp(floor · 2^(whole doublings of age − 1), floor, cap).
 */
import { requireOption } from '../core/errors.ts'
import type { TtlPolicy } from './policy.ts'

export interface LadderOptions {
  readonly floorMs: number
  readonly doublingMs: number
  readonly capMs: number
  /** Overrides the age at which the cap is reached. */
  readonly settledAgeMs?: number
}

export const publishedLadder: LadderOptions = { floorMs: 5_000, doublingMs: 60_000, capMs: 3_600_000 }

export function ladder(options: LadderOptions = publishedLadder): TtlPolicy {
  const { floorMs, doublingMs, capMs } = options
  requireOption(
    floorMs > 0 && doublingMs > 0 && capMs >= floorMs && capMs < Number.POSITIVE_INFINITY,
    'a ladder needs 0 < floor ≤ cap < ∞ and a doubling period',
    'Give a floor and a doubling period above 0, and a cap that is not below the floor.',
  )
  // One entry per rung up to the cap: a lookup divides and indexes, it does not exponentiate.
  const rungs: number[] = [floorMs, floorMs]
  while (rungs[rungs.length - 1]! < capMs) rungs.push(Math.min(capMs, rungs[rungs.length - 1]! * 2))
  const top = rungs.length - 1
  return {
    name: 'ladder',
    isMonotone: true,
    capMs,
    settledAgeMs: options.settledAgeMs ?? (floorMs >= capMs ? 0 : top * doublingMs),
    ttl: (ageMs) => (ageMs < doublingMs ? floorMs : rungs[Math.min(top, Math.floor(ageMs / doublingMs))]!),
  }
}
