import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { delayed } from './delayed.ts'
import { ladder } from './ladder.ts'
import type { TtlPolicy } from './policy.ts'

const steps: TtlPolicy = {
  ...{ name: 'steps', isMonotone: false, capMs: 50, settledAgeMs: 30 },
  ttl: (ageMs) => (ageMs < 10 ? 5 : ageMs < 20 ? 50 : 20),
  plateaus: {
    endOf: (ageMs) => (ageMs < 10 ? 10 : ageMs < 20 ? 20 : Number.POSITIVE_INFINITY),
    lapseOf: (fetchedAt, ttlMs) => fetchedAt + ttlMs - 1,
  },
}

test('a bucket is as old as the newest data that it is computed from', () => {
  const published = ladder()
  fc.assert(
    fc.property(fc.integer({ min: -1e6, max: 1e7 }), fc.integer({ min: 1, max: 1e6 }), (ageMs, delayMs) => {
      for (const policy of [published, steps]) {
        const later = delayed(policy, delayMs)
        assert.equal(later.ttl(ageMs + delayMs), policy.ttl(ageMs))
        assert.equal(ageMs + delayMs >= later.settledAgeMs, ageMs >= policy.settledAgeMs)
        assert.equal(
          later.plateaus?.endOf(ageMs + delayMs),
          policy.plateaus && policy.plateaus.endOf(ageMs) + delayMs,
        )
      }
    }),
  )
})

test('until its data is over it gets the floor, whatever its own age', () => {
  const later = delayed(ladder(), 600_000)
  assert.equal(later.ttl(599_999), 5000)
  assert.equal(later.ttl(-1), 5000)
  assert.equal(later.capMs, ladder().capMs)
  assert.equal(delayed(steps, 5).plateaus?.lapseOf(100, 50), 149)
})
