import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { fixed } from './fixed.ts'
import { ladder } from './ladder.ts'

const minute = 60_000
const day = 24 * 60 * minute

test('the published ladder has every published rung', () => {
  const rungs = [5, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]
  rungs.forEach((seconds, age) => {
    assert.equal(ladder().ttl(age * minute), seconds * 1000, `age ${age} min`)
  })
})

test('the published ladder is exact at its boundaries', () => {
  const vectors: [ageSeconds: number, ttlSeconds: number][] = [
    [-30, 5],
    [0, 5],
    [119.999, 5],
    [120, 10],
    [179.999, 10],
    [180, 20],
    [659.999, 2560],
    [660, 3600],
    [(30 * day) / 1000, 3600],
  ]
  for (const [age, ttl] of vectors) assert.equal(ladder().ttl(age * 1000), ttl * 1000, `age ${age} s`)
})

test('buckets settle where the ladder reaches its cap', () => {
  assert.equal(ladder().settledAgeMs, 11 * minute)
  assert.equal(ladder({ floorMs: 5_000, doublingMs: minute, capMs: 5_000 }).settledAgeMs, 0)
  assert.equal(ladder({ floorMs: 5_000, doublingMs: minute, capMs: 60_000, settledAgeMs: 7 }).settledAgeMs, 7)
})

test('floor, doubling period and cap are the operator’s', () => {
  const policy = ladder({ floorMs: 10_500, doublingMs: 30_000, capMs: day })
  assert.equal(policy.ttl(59_999), 10_500)
  assert.equal(policy.ttl(60_000), 21_000)
  assert.equal(policy.ttl(90_000), 42_000)
  assert.equal(policy.ttl(day), day)
  assert.equal(policy.capMs, day)
})

test('a ladder follows its closed form and never decreases with age', () => {
  const options = fc.record({
    floorMs: fc.integer({ min: 1, max: 60_000 }),
    doublingMs: fc.integer({ min: 1, max: 600_000 }),
    capMs: fc.integer({ min: 60_000, max: 10 * day }),
  })
  fc.assert(
    fc.property(options, fc.integer({ min: -day, max: 30 * day }), fc.nat(day), (given, age, later) => {
      const policy = ladder(given)
      const doublings = Math.floor(age / given.doublingMs)
      const expected = Math.min(given.capMs, Math.max(given.floorMs, given.floorMs * 2 ** (doublings - 1)))
      assert.equal(policy.ttl(age), expected)
      assert.ok(policy.ttl(age + later) >= policy.ttl(age))
      assert.equal(policy.ttl(Math.max(age, policy.settledAgeMs)), given.capMs)
    }),
  )
})

test('a fixed TTL is the same at every age', () => {
  const policy = fixed(30_000)
  for (const age of [-1, 0, minute, day]) assert.equal(policy.ttl(age), 30_000)
  assert.equal(policy.settledAgeMs, 0)
})

test('a ladder that could not be climbed is refused', () => {
  for (const wrong of [
    { floorMs: 0 },
    { doublingMs: 0 },
    { capMs: 1 },
    { capMs: Number.POSITIVE_INFINITY },
    { floorMs: Number.NaN },
  ]) {
    const options = { floorMs: 5_000, doublingMs: minute, capMs: day, ...wrong }
    assert.throws(() => ladder(options), { code: 'WINDOWPANE_BAD_OPTION' })
  }
})
