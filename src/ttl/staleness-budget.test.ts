import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import fc from 'fast-check'
import { computeTtl, normalizedTtl, staleFraction } from './staleness-budget.ts'

interface Row {
  readonly staleness_budget: number
  readonly lambda_t: number
}

const golden: { readonly rows: readonly Row[] } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'fixtures/staleness-budget.json'), 'utf8'),
)

function assertClose(actual: number, expected: number, tolerance: number) {
  const difference = Math.abs(actual - expected)
  assert.ok(difference <= tolerance * Math.abs(expected), `${actual} is not ${expected}`)
}

/** A budget near 1 is known to half a unit in its last place only, which moves x by that much times x. */
const toleranceAt = (x: number) => 1e-15 + x * 2 ** -53

test('every golden vector is met to the last digits, in both directions', () => {
  assert.equal(golden.rows.length, 22)
  for (const { staleness_budget: budget, lambda_t: x } of golden.rows) {
    assertClose(normalizedTtl(budget), x, toleranceAt(x))
    assertClose(computeTtl(1, budget), x, toleranceAt(x))
    assertClose(staleFraction(1, x), budget, 1e-15)
  }
})

test('the reference table of x, its approximations and the share stale at the end of life', () => {
  const table: [budget: number, x: number, endOfLife?: number][] = [
    [1e-12, 2.00000000000133e-12],
    [1e-6, 2.00000133333444e-6],
    [1e-4, 0.000200013334444545, 0.0002],
    [0.001, 0.00200133444545281, 0.002],
    [0.005, 0.0100334728548448, 0.01],
    [0.01, 0.0201344546147605, 0.0199],
    [0.02, 0.0405423865176188, 0.0397],
    [0.05, 0.103478831546223, 0.0983],
    [0.1, 0.21455574127133, 0.1931],
    [0.2, 0.464212754378817, 0.3714],
    [0.25, 0.605859977919, 0.4544],
    [0.3, 0.761433682545116, 0.533],
    [0.5, 1.59362426004004, 0.7968],
    [0.75, 3.92069039487289],
    [0.9, 9.99954579444654],
    [0.95, 19.9999999587769],
    [0.99, 100],
  ]
  for (const [budget, x, endOfLife] of table) {
    assertClose(normalizedTtl(budget), x, 5e-15)
    if (endOfLife !== undefined) assertClose(-Math.expm1(-normalizedTtl(budget)), endOfLife, 0.004)
  }
})

test('TTLs for a mean time between changes', () => {
  const table: [meanSeconds: number, ...ttls: [one: number, five: number, ten: number]][] = [
    [60, 1.208, 6.209, 12.873],
    [600, 12.081, 62.087, 128.733],
    [3600, 72.484, 372.524, 772.401],
    [86400, 1739.617, 8940.571, 18537.616],
  ]
  for (const [mean, ...ttls] of table) {
    const computed = [0.01, 0.05, 0.1].map((budget) => Number(computeTtl(1 / mean, budget).toFixed(3)))
    assert.deepEqual(computed, ttls)
  }
})

test('the vectors of the contract', () => {
  assert.equal(staleFraction(1, 1).toFixed(6), '0.367879')
  assertClose(staleFraction(1, 1), Math.exp(-1), 1e-15)
  assert.equal(computeTtl(0.2, 0.1).toFixed(3), '1.073')
})

test('the stale share has all its digits where the closed form has none', () => {
  // Computed with 60 digits.
  const vectors: [x: number, share: number][] = [
    [1e-300, 5e-301],
    [1e-12, 4.999999999998333e-13],
    [1e-8, 4.999999983333333e-9],
    [1e-6, 4.99999833333375e-7],
    [0.0099, 0.004933705349207228],
    [0.01, 0.004983374916805358],
    [0.5, 0.21306131942526685],
    [0.999, 0.3676151197333963],
    [1.001, 0.36814360200668683],
    [40, 0.975],
    [1e9, 0.999999999],
  ]
  for (const [x, share] of vectors) assertClose(staleFraction(1, x), share, 5e-16)
})

test('the ends: nothing may be stale, everything may, nothing is', () => {
  for (const budget of [0, -1, Number.NaN]) assert.equal(normalizedTtl(budget), 0)
  for (const budget of [1, 2, Number.POSITIVE_INFINITY]) {
    assert.equal(normalizedTtl(budget), Number.POSITIVE_INFINITY)
  }
  assert.equal(computeTtl(1, 0), 0)
  assert.equal(computeTtl(Number.POSITIVE_INFINITY, 0.5), 0)
  assert.equal(staleFraction(1, 0), 0)
  assert.equal(staleFraction(0, 1), 0)
  assert.equal(staleFraction(0, Number.POSITIVE_INFINITY), 0)
  assert.equal(staleFraction(Number.POSITIVE_INFINITY, 0), 0)
  assert.equal(staleFraction(1, Number.POSITIVE_INFINITY), 1)
})

test('arguments without an answer are refused with a sentence', () => {
  const refused = (call: () => number, message: RegExp) =>
    assert.throws(call, (error) => error instanceof RangeError && message.test(error.message))
  for (const rate of [0, -1, Number.NaN]) refused(() => computeTtl(rate, 0.1), /^The change rate must .*\.$/)
  for (const budget of [-0.1, 1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    refused(() => computeTtl(1, budget), /^The staleness budget must .*\.$/)
  }
  for (const bad of [-1, Number.NaN]) {
    refused(() => staleFraction(bad, 1), /^The change rate must .*\.$/)
    refused(() => staleFraction(1, bad), /^The TTL must .*\.$/)
  }
})

const anyBudget = fc.oneof(
  fc.double({ min: 1e-12, max: 0.02, noNaN: true }),
  fc.double({ min: 0.005, max: 0.9999, noNaN: true }),
)

test('TTL and stale share undo each other, at every rate', () => {
  const rate = fc.double({ min: 1e-9, max: 1e6, noNaN: true })
  fc.assert(
    fc.property(anyBudget, rate, (budget, given) => {
      assertClose(staleFraction(given, computeTtl(given, budget)), budget, 2e-15)
      assertClose(computeTtl(given, budget) * given, normalizedTtl(budget), 1e-15)
    }),
    { numRuns: 3000 },
  )
})

test('a larger budget gives a longer TTL, and at least twice the budget', () => {
  fc.assert(
    fc.property(anyBudget, fc.double({ min: 1e-12, max: 0.01, noNaN: true }), (budget, more) => {
      const larger = Math.min(0.99999, budget * (1 + more))
      assert.ok(normalizedTtl(larger) > normalizedTtl(budget))
      assert.ok(normalizedTtl(budget) >= 2 * budget)
    }),
    { numRuns: 3000 },
  )
})

test('solver and stale share are continuous where their method changes', () => {
  for (const border of [0.01, 0.3]) {
    const [below, above] = [border * (1 - 1e-14), border]
    assertClose(normalizedTtl(below), normalizedTtl(above), 2e-14)
    assert.ok(normalizedTtl(below) < normalizedTtl(above))
  }
  assertClose(normalizedTtl(0.0099999), 0.0201342519, 1e-8)
  assertClose(staleFraction(1, 1 - 1e-15), staleFraction(1, 1), 2e-15)
})
