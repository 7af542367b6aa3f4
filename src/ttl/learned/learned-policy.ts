/** Policies that learn: as configured by the operator, and as computed for a shape with observations. */
import { requireOption } from '../../core/errors.ts'
import { ladder, publishedLadder } from '../ladder.ts'
import type { TtlPolicy } from '../policy.ts'
import { lapseAt, quantumMs } from './epochs.ts'
import type { LearnedTerms } from './learning.ts'
import { plateauOf, type TtlTable } from './ttl-table.ts'

export interface LearnedOptions {
  /** Of the buckets that viewers are shown, this share may be out of date: 0.01 is one in a hundred. */
  readonly staleness: number
  /** 5 s by default. */
  readonly floorMs?: number
  /** 24 h by default. */
  readonly capMs?: number
  /** 11 min by default, where the published ladder reaches its cap. */
  readonly settledAgeMs?: number
}

const published = ladder()

/**
 * A policy that learns how fast the data change, and gives each bucket the longest TTL that keeps the staleness within
 * its budget. As long as nothing is known, and wherever nothing learns, it is the published ladder between its floor and cap.
 */
export function learned(options: LearnedOptions): TtlPolicy {
  const { staleness: budget, floorMs = publishedLadder.floorMs, capMs = 24 * 3_600_000 } = options
  const { settledAgeMs = published.settledAgeMs } = options
  requireOption(
    budget > 0 && budget < 1,
    'a learned policy needs a staleness between 0 and 1',
    'Give the share of buckets that may be out of date, like 0.01 for one in a hundred.',
  )
  requireOption(
    floorMs > 0 && capMs >= floorMs && capMs < Number.POSITIVE_INFINITY && settledAgeMs >= 0,
    'a learned policy needs 0 < floor ≤ cap < ∞ and a settled age that is not negative',
    'Give a floor above 0, and a cap that is not below the floor.',
  )
  const longest = Math.max(floorMs, Math.min(capMs, published.capMs))
  return {
    name: 'learned',
    isMonotone: true,
    capMs,
    settledAgeMs,
    ttl: (ageMs) => Math.min(longest, Math.max(floorMs, published.ttl(ageMs))),
    learns: { budget, floorMs, capMs, settledAgeMs },
  }
}

/** `phaseMs` where buckets lapse on epochs. */
export function tablePolicy(table: TtlTable, terms: LearnedTerms, phaseMs?: number): TtlPolicy {
  const epochs = phaseMs === undefined ? undefined : { quantumMs, phaseMs }
  return {
    name: 'learned',
    isMonotone: false,
    capMs: terms.capMs,
    settledAgeMs: terms.settledAgeMs,
    ttl: (ageMs) => table.ttls[plateauOf(table, ageMs)]!,
    plateaus: {
      endOf: (ageMs) => {
        const next = plateauOf(table, ageMs) + 1
        return next < table.ages.length ? table.ages[next]! : Number.POSITIVE_INFINITY
      },
      // No bucket gets less than the floor because of its epoch's end if the floor is all it has.
      lapseOf: (fetchedAt, ttlMs) =>
        epochs === undefined || ttlMs <= terms.floorMs
          ? fetchedAt + ttlMs
          : lapseAt(fetchedAt, ttlMs, epochs),
    },
    learns: terms,
  }
}
