/** Refetches as an engine would observe them, of data that change at a known rate; for tests of learning. */
import type { EpochMs } from '../../src/core/clock.ts'
import type { Random } from '../../src/testing/random.ts'
import type { LearnedTerms, Refetch } from '../../src/ttl/learned/learning.ts'

export const learnedTerms: LearnedTerms = {
  budget: 0.01,
  floorMs: 5000,
  capMs: 86_400_000,
  settledAgeMs: 660_000,
}

export interface Refetched {
  readonly at: EpochMs
  readonly random: Random
  /** How often a bucket changes, at every age. */
  readonly changesPerHour: number
  /** The shape, as if it were its key. */
  readonly shape?: string
}

const minuteMs = 60_000
const buckets = 180
const gapMs = 5 * minuteMs

/** Three hours of one-minute buckets, five minutes after they were fetched before. */
export function refetchOf({ at, random, changesPerHour, shape = 'a' }: Refetched): Refetch {
  const newAges = Float64Array.from({ length: buckets }, (_, i) => gapMs + i * minuteMs)
  const changes = -Math.expm1((-changesPerHour * gapMs) / 3_600_000)
  return {
    ...{ kind: 'refetch', at, shape: { key: shape.padEnd(43, '0'), sources: ['up'] } },
    oldAges: newAges.map((age) => age - gapMs),
    newAges,
    changed: Uint8Array.from(newAges, () => Number(random() < changes)),
  }
}
