/** A policy like the learned ones: a TTL for each of 23 age classes, and lapses on nested epochs. */
import type { TtlPolicy } from '../src/ttl/policy.ts'

const second = 1_000
const starts = [
  ...[0, 60, 120, 180, 240, 300, 420, 600, 840, 1200, 1680, 2400, 3360, 4800, 6720, 9600, 13_440],
  ...[19_200, 26_880, 38_400, 54_000, 76_800],
].map((age) => age * second)
const epochMs = 10 * second
const capMs = 24 * 3600 * second

/** A lookup evaluates one age after the other: the class is mostly the last one found, or the one before. */
let last = 0

function classOf(ageMs: number): number {
  let found = last
  while (found < starts.length && starts[found]! <= ageMs) found++
  while (found > 0 && starts[found - 1]! > ageMs) found--
  last = found
  return found
}

export function plateaus(): TtlPolicy {
  // Every fifth class changes more than those around it.
  const ttls = Array.from({ length: starts.length + 1 }, (_, i) =>
    i < 3 ? 5 * second : Math.min(capMs, (i % 5 === 0 ? 45 : 60 * i) * second),
  )
  return {
    name: 'plateaus',
    isMonotone: false,
    ...{ capMs, settledAgeMs: 900 * second },
    ttl: (ageMs) => ttls[classOf(ageMs)]!,
    plateaus: {
      endOf: (ageMs) => starts[classOf(ageMs)] ?? Number.POSITIVE_INFINITY,
      lapseOf(fetchedAt, ttlMs) {
        if (ttlMs < 2 * epochMs) return fetchedAt + ttlMs
        const period = epochMs * (1 << (31 - Math.clz32(ttlMs / epochMs)))
        return (Math.floor(fetchedAt / period) + 1) * period
      },
    },
  }
}
