import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { type RateOptions, rate } from './rate.ts'
import { staleFraction } from './staleness-budget.ts'

const second = 1000
const hour = 3600 * second
const day = 24 * hour

test('data that changes every 5 days may be kept for 25.7 h at 10 %', () => {
  const policy = rate({ changesEveryMs: 5 * day, budget: 0.1 })
  assert.equal((policy.ttl(0) / hour).toFixed(1), '25.7')
  for (const age of [0, 1, hour, 100 * day]) assert.equal(policy.ttl(age), 92_688_080)
  assert.equal(policy.name, 'rate')
  assert.equal(policy.isMonotone, true)
  assert.equal(policy.capMs, 92_688_080)
  assert.equal(policy.settledAgeMs, 0)
})

test('an open bucket gets the floor: 5 s unless given, and never more than the budget allows', () => {
  assert.equal(rate({ changesEveryMs: 5 * day, budget: 0.1 }).ttl(-1), 5 * second)
  assert.equal(rate({ changesEveryMs: 5 * day, budget: 0.1, floorMs: 7 * second }).ttl(-hour), 7 * second)
  const fast = rate({ changesEveryMs: 10 * second, budget: 0.1 })
  assert.equal(fast.ttl(0), 2145)
  assert.equal(fast.ttl(-1), 2145)
})

test('floor and cap bind where they are given', () => {
  const floored = rate({ changesEveryMs: 10 * second, budget: 0.1, floorMs: 5 * second })
  assert.deepEqual([floored.ttl(-1), floored.ttl(0), floored.capMs], [5 * second, 5 * second, 5 * second])
  const capped = rate({ changesEveryMs: 5 * day, budget: 0.1, capMs: day })
  assert.deepEqual([capped.ttl(-1), capped.ttl(0), capped.capMs], [5 * second, day, day])
  assert.equal(rate({ changesEveryMs: 1, budget: 0.001 }).ttl(0), 1)
})

test('keeps its budget, and would not with a longer TTL', () => {
  const options = fc.record({
    changesEveryMs: fc.integer({ min: second, max: 100 * day }),
    budget: fc.double({ min: 0.001, max: 0.9, noNaN: true }),
  })
  fc.assert(
    fc.property(options, (given) => {
      const { capMs } = rate(given)
      if (capMs > 1) assert.ok(staleFraction(1 / given.changesEveryMs, capMs) <= given.budget * (1 + 1e-12))
      assert.ok(staleFraction(1 / given.changesEveryMs, capMs + 1) > given.budget * (1 - 1e-12))
    }),
  )
})

test('options that give no TTL are refused', () => {
  const wrongs: Partial<RateOptions>[] = [
    { changesEveryMs: 0 },
    { changesEveryMs: Number.NaN },
    { changesEveryMs: Number.POSITIVE_INFINITY },
    { budget: 0 },
    { budget: 1 },
    { budget: Number.NaN },
    { floorMs: 0 },
    { floorMs: Number.NaN },
    { floorMs: 2 * hour, capMs: hour },
    { capMs: Number.POSITIVE_INFINITY },
  ]
  for (const wrong of wrongs) {
    const options = { changesEveryMs: day, budget: 0.1, ...wrong }
    assert.throws(() => rate(options), { code: 'WINDOWPANE_BAD_OPTION' })
  }
})
