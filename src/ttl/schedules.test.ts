/** The laws that every policy keeps, and the values that distinguish policies. */
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { exponential } from './exponential.ts'
import { fixed } from './fixed.ts'
import { ladder, publishedLadder } from './ladder.ts'
import { linear } from './linear.ts'
import { logarithmic } from './logarithmic.ts'
import type { TtlPolicy } from './policy.ts'
import { rate } from './rate.ts'
import { steps, stepsMistake } from './steps.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

const floorMs = fc.oneof(fc.integer({ min: 1, max: minute }), fc.double({ min: 1, max: minute, noNaN: true }))
const capMs = fc.integer({ min: minute, max: 10 * day })
const periodMs = fc.integer({ min: 1, max: hour })
const schedule = fc
  .array(fc.record({ ageMs: fc.integer({ min: 0, max: day }), ttlMs: fc.integer({ min: 0, max: day }) }), {
    minLength: 1,
    maxLength: 8,
  })
  .map((raw) => {
    const ages = [...new Set(raw.map((step) => step.ageMs))].sort((a, b) => a - b)
    const ttls = raw.map((step) => step.ttlMs).sort((a, b) => a - b)
    return ages.map((ageMs, i) => ({ ageMs, ttlMs: minute + ttls[i]! }))
  })

const policies: Readonly<Record<string, fc.Arbitrary<TtlPolicy & { floor: number }>>> = {
  ladder: fc
    .record({ floorMs, doublingMs: periodMs, capMs })
    .map((given) => ({ ...ladder(given), floor: given.floorMs })),
  exponential: fc
    .record({ floorMs, doublingMs: periodMs, capMs })
    .map((given) => ({ ...exponential(given), floor: given.floorMs })),
  linear: fc
    .record({ floorMs, slope: fc.double({ min: 0.001, max: 10, noNaN: true }), capMs })
    .map((given) => ({ ...linear(given), floor: given.floorMs })),
  logarithmic: fc
    .record({ floorMs, riseMs: periodMs, unitMs: periodMs, capMs })
    .map((given) => ({ ...logarithmic(given), floor: given.floorMs })),
  rate: fc
    .record({
      floorMs,
      changesEveryMs: periodMs,
      budget: fc.double({ min: 0.001, max: 0.9, noNaN: true }),
      capMs,
    })
    .map((given) => ({ ...rate(given), floor: given.floorMs })),
  fixed: capMs.map((ttlMs) => ({ ...fixed(ttlMs), floor: ttlMs })),
  steps: fc.record({ floorMs, steps: schedule }).map((given) => ({ ...steps(given), floor: given.floorMs })),
}

for (const [name, policy] of Object.entries(policies)) {
  const age = fc.oneof(fc.integer({ min: -day, max: 30 * day }), fc.integer({ min: -10, max: 10 * minute }))
  test(`${name}: never falls with age, stays between floor and cap, is the cap exactly once settled`, () => {
    fc.assert(
      fc.property(policy, age, fc.nat(day), (given, at, later) => {
        const ttl = given.ttl(at)
        assert.ok(given.ttl(at + later) >= ttl)
        assert.ok(ttl >= given.floor && ttl <= given.capMs)
        assert.equal(given.ttl(given.settledAgeMs), given.capMs)
        assert.equal(given.ttl(Math.max(at, given.settledAgeMs)), given.capMs)
        assert.equal(given.ttl(-1), given.floor)
        assert.equal(given.name, name)
      }),
    )
  })
  test(`${name}: the settled age is the first at which the cap holds, give or take rounding`, () => {
    fc.assert(
      fc.property(policy, (given) => {
        if (given.settledAgeMs === 0) return
        const before = given.ttl(given.settledAgeMs * 0.98 - 2)
        assert.ok(before < given.capMs || before >= given.capMs * 0.99)
      }),
    )
  })
}

test('exponential: equals the ladder at every whole doubling, lies above it between', () => {
  const [smooth, stepped] = [exponential(publishedLadder), ladder()]
  for (let age = 0; age <= 20; age++) {
    assert.equal(smooth.ttl(age * minute), stepped.ttl(age * minute), `age ${age} min`)
    assert.ok(smooth.ttl((age + 0.5) * minute) >= stepped.ttl((age + 0.5) * minute))
  }
  assert.equal(smooth.ttl(2.5 * minute), Math.floor(5000 * 2 ** 1.5))
  assert.equal(smooth.settledAgeMs, Math.ceil(minute * (1 + Math.log2(720))))
})

test('linear: a share of the age', () => {
  const policy = linear({ floorMs: 5 * second, slope: 0.1, capMs: hour })
  for (const [age, ttl] of [
    [-minute, 5 * second],
    [0, 5 * second],
    [50 * second, 5 * second],
    [10 * minute, minute],
    [5 * hour, 30 * minute],
    [10 * hour, hour],
    [30 * day, hour],
  ] as const) {
    assert.equal(policy.ttl(age), ttl, `age ${age}`)
  }
  assert.equal(policy.settledAgeMs, 10 * hour)
})

test('logarithmic: one rise with every doubling', () => {
  const policy = logarithmic({ floorMs: 5 * second, riseMs: 30 * second, unitMs: minute, capMs: 5 * minute })
  for (const [age, ttl] of [
    [-1, 5],
    [0, 5],
    [minute, 35],
    [3 * minute, 65],
    [7 * minute, 95],
    [day, 300],
  ] as const) {
    assert.equal(policy.ttl(age), ttl * second, `age ${age}`)
  }
  assert.equal(
    logarithmic({ floorMs: 1, riseMs: 1, unitMs: 1, capMs: day }).settledAgeMs,
    Number.MAX_SAFE_INTEGER,
  )
})

test('steps: the TTL of the last age reached', () => {
  const policy = steps({
    floorMs: 5 * second,
    steps: [
      { ageMs: 2 * minute, ttlMs: minute },
      { ageMs: hour, ttlMs: hour },
      { ageMs: day, ttlMs: hour },
    ],
  })
  for (const [age, ttl] of [
    [-1, 5 * second],
    [2 * minute - 1, 5 * second],
    [2 * minute, minute],
    [hour - 1, minute],
    [hour, hour],
    [9 * day, hour],
  ] as const) {
    assert.equal(policy.ttl(age), ttl, `age ${age}`)
  }
  assert.equal(policy.settledAgeMs, hour)
  assert.equal(steps({ floorMs: hour, steps: [{ ageMs: day, ttlMs: hour }] }).settledAgeMs, 0)
})

test('a schedule that is not monotone is found, with the step', () => {
  const at = (...pairs: [number, number][]) =>
    stepsMistake({ floorMs: 10, steps: pairs.map(([ageMs, ttlMs]) => ({ ageMs, ttlMs })) })
  assert.equal(at([0, 10], [1, 10], [2, 11]), undefined)
  assert.deepEqual(at([0, 9]), { at: 0, why: 'ttl_falls' })
  assert.deepEqual(at([0, 10], [0, 11]), { at: 1, why: 'age_does_not_rise' })
  assert.deepEqual(at([5, 10], [6, 20], [7, 19]), { at: 2, why: 'ttl_falls' })
})

test('a floor at the cap is settled from the beginning', () => {
  const flat = { floorMs: minute, capMs: minute }
  assert.equal(exponential({ ...flat, doublingMs: 1 }).settledAgeMs, 0)
  assert.equal(linear({ ...flat, slope: 1 }).settledAgeMs, 0)
  assert.equal(logarithmic({ ...flat, riseMs: 1, unitMs: 1 }).settledAgeMs, 0)
})

test('schedules that are not monotone are refused', () => {
  const flat = { floorMs: minute, capMs: minute }
  const refused = { code: 'WINDOWPANE_BAD_OPTION' }
  for (const wrong of [
    { floorMs: 0 },
    { capMs: 1 },
    { capMs: Number.POSITIVE_INFINITY },
    { floorMs: Number.NaN },
  ]) {
    assert.throws(() => exponential({ ...flat, doublingMs: 1, ...wrong }), refused)
    assert.throws(() => linear({ ...flat, slope: 1, ...wrong }), refused)
    assert.throws(() => logarithmic({ ...flat, riseMs: 1, unitMs: 1, ...wrong }), refused)
  }
  assert.throws(() => exponential({ ...flat, doublingMs: 0 }), refused)
  assert.throws(() => linear({ ...flat, slope: 0 }), refused)
  assert.throws(() => logarithmic({ ...flat, riseMs: 0, unitMs: 1 }), refused)
  assert.throws(() => steps({ floorMs: 1, steps: [] }), refused)
  assert.throws(() => steps({ floorMs: 2, steps: [{ ageMs: 0, ttlMs: 1 }] }), refused)
})
