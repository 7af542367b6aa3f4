import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ladder } from '../ladder.ts'
import { ageBorders } from './age-classes.ts'
import { invert } from './age-curve.ts'
import { learned, tablePolicy } from './learned-policy.ts'
import type { LearnedTerms } from './learning.ts'
import { tableOf } from './ttl-table.ts'

const hour = 3_600_000
const terms: LearnedTerms = { budget: 0.05, floorMs: 5_000, capMs: 24 * hour, settledAgeMs: 660_000 }

/** Rates of which none is only a guess. */
const seen = (uppers: Float64Array) => ({ uppers, origins: Array.from(uppers, () => 'shape' as const) })

const policyOf = (
  rateAt: (ageMs: number) => number,
  { given = terms, phaseMs }: { given?: LearnedTerms; phaseMs?: number } = {},
) => {
  const curve = { borders: ageBorders, rates: ageBorders.map(rateAt) }
  const onEpochs = phaseMs !== undefined
  return tablePolicy(
    tableOf(seen(curve.rates), { terms: given, budgetAt: () => given.budget, onEpochs }),
    given,
    phaseMs,
  )
}

test('a constant rate gives one plateau between floor and cap', () => {
  const vectors = [
    [0.05, 5_000],
    [0.001, 103_478.83154622276],
    [1e-7, 24 * hour],
  ]
  for (const [perSecond, ttl] of vectors) {
    const policy = policyOf(() => perSecond! / 1000)
    for (const age of [0, 59_999, 60_000, hour, 100 * hour]) {
      assert.ok(Math.abs(policy.ttl(age) - ttl!) < 1e-6, `${perSecond}: ${policy.ttl(age)}`)
    }
    assert.equal(policy.ttl(-1), 5_000)
    assert.equal(policy.isMonotone, false)
  }
})

const curves = fc.array(fc.double({ min: -10, max: -3, noNaN: true }), { minLength: 23, maxLength: 23 })
const ages = fc.integer({ min: 0, max: 40 * hour })
const budgets = fc.double({ min: 0.001, max: 0.3, noNaN: true })

test('at every age the TTL is between floor and cap, and keeps the budget where it is above the floor', () => {
  fc.assert(
    fc.property(curves, ages, budgets, fc.boolean(), (exponents, age, budget, onEpochs) => {
      const rates = Float64Array.from(exponents, (exponent) => 10 ** exponent)
      const given = { ...terms, budget }
      const curve = { borders: ageBorders, rates }
      const table = tableOf(seen(curve.rates), { terms: given, budgetAt: () => budget, onEpochs })
      const ttl = tablePolicy(table, given, onEpochs ? 7 : undefined).ttl(age)
      assert.ok(ttl >= given.floorMs && ttl <= given.capMs)
      if (ttl > given.floorMs)
        assert.ok(ttl <= invert(curve, age, { budget: budget * 1.01, cap: given.capMs }))
    }),
    { numRuns: 300 },
  )
})

test('between the ends of plateaus the TTL does not change', () => {
  fc.assert(
    fc.property(curves, fc.boolean(), (exponents, onEpochs) => {
      const rates = Float64Array.from(exponents, (exponent) => 10 ** exponent)
      const table = tableOf(seen(rates), { terms, budgetAt: () => 0.05, onEpochs })
      const { ttl, plateaus } = tablePolicy(table, terms)
      for (let age = -hour; age < Number.POSITIVE_INFINITY; ) {
        const end = plateaus!.endOf(age)
        assert.ok(end > age)
        assert.equal(ttl(Math.min(end - 1, 1e12)), ttl(age))
        if (end < Number.POSITIVE_INFINITY) assert.notEqual(ttl(end), ttl(age))
        age = end
      }
    }),
    { numRuns: 50 },
  )
})

test('buckets lapse with their TTL, or earlier where a phase is given', () => {
  fc.assert(
    fc.property(curves, ages, fc.integer({ min: 1.7e12, max: 1.8e12 }), (exponents, age, fetchedAt) => {
      const rateAt = (_: number, at: number) => 10 ** exponents[at]!
      const rates = ageBorders.map(rateAt)
      for (const phaseMs of [undefined, 12_345]) {
        const table = tableOf(seen(rates), { terms, budgetAt: () => 0.05, onEpochs: phaseMs !== undefined })
        const policy = tablePolicy(table, terms, phaseMs)
        const ttl = policy.ttl(age)
        const lapse = policy.plateaus!.lapseOf(fetchedAt, ttl)
        if (phaseMs === undefined || ttl === terms.floorMs) assert.equal(lapse, fetchedAt + ttl)
        else assert.ok(lapse > fetchedAt && lapse <= fetchedAt + ttl)
      }
    }),
    { numRuns: 50 },
  )
})

test('without anyone who learns it is the published ladder between its floor and cap', () => {
  const policy = learned({ staleness: 0.01, floorMs: 30_000, capMs: 600_000 })
  for (let age = -60_000; age < hour; age += 1000) {
    assert.equal(policy.ttl(age), Math.min(600_000, Math.max(30_000, ladder().ttl(age))))
  }
  assert.deepEqual(learned({ staleness: 0.01 }).learns, { ...terms, budget: 0.01 })
  assert.equal(learned({ staleness: 0.01 }).ttl(100 * hour), hour)
  assert.equal(learned({ staleness: 0.01 }).capMs, 24 * hour)
})

test('terms that cannot be kept are refused', () => {
  for (const wrong of [
    { staleness: 0 },
    { staleness: 1 },
    { staleness: Number.NaN },
    { floorMs: 0 },
    { capMs: 1 },
    { capMs: Number.POSITIVE_INFINITY },
    { settledAgeMs: -1 },
  ]) {
    assert.throws(() => learned({ staleness: 0.01, ...wrong }), { code: 'WINDOWPANE_BAD_OPTION' })
  }
})
