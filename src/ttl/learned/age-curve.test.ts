import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { staleFraction } from '../staleness-budget.ts'
import { classOf, endOfClass, splitGap } from './age-classes.ts'
import { type AgeCurve, invert } from './age-curve.ts'

const curveOf = (borders: number[], rates: number[]): AgeCurve => ({
  borders: Float64Array.from(borders),
  rates: Float64Array.from(rates),
})

function assertNear(actual: number, expected: number, tolerance = 1e-8): void {
  const off = Math.abs(actual - expected)
  assert.ok(off <= tolerance * Math.abs(expected), `${actual} is not ${expected} within ${tolerance}`)
}

test('a falling rate is inverted to the published digits', () => {
  const curve = curveOf([0, 60, 120, 300], [0.05, 0.01, 0.001, 0])
  const vectors: [budget: number, age: number, ttl: number][] = [
    [0.01, 0, 0.4026890923],
    [0.01, 60, 2.013445461],
    [0.01, 119, 4.235912242],
    [0.01, 120, 20.13445461],
    [0.01, 299, 86400],
    [0.05, 30, 2.069576631],
    [0.05, 119, 85.30330077],
    [0.05, 120, 103.4788315],
    [0.05, 200, 103.5999262],
  ]
  for (const [budget, age, ttl] of vectors) assertNear(invert(curve, age, { budget, cap: 86400 }), ttl)
})

test('where the rate rises the TTL falls with age', () => {
  const curve = curveOf([0, 600, 3600], [1e-4, 1e-3, 1e-6])
  const vectors: [budget: number, age: number, ttl: number, tolerance?: number][] = [
    [0.01, 0, 201.3445461],
    [0.01, 500, 132.0550665],
    [0.01, 600, 20.13445461],
    [0.01, 3590, 382.6569095],
    [0.01, 3600, 20134.45461],
    [0.05, 0, 757.2702078],
    [0.05, 500, 249.0529474],
    [0.05, 3590, 83184.449, 1e-6],
    [0.05, 3600, 86400],
  ]
  for (const [budget, age, ttl, tolerance] of vectors)
    assertNear(invert(curve, age, { budget, cap: 86400 }), ttl, tolerance)
})

test('a constant rate has the closed form at every budget', () => {
  const curve = curveOf([0, 10, 1000], [1, 1, 1])
  const vectors = [
    [1e-12, 2.00000000000133e-12],
    [1e-6, 2.00000133333444e-6],
    [0.001, 0.00200133444545281],
    [0.05, 0.103478831546223],
    [0.5, 1.59362426004004],
    [0.9, 9.99954579444654],
    [0.99, 100],
  ]
  for (const [budget, ttl] of vectors)
    assertNear(invert(curve, 5, { budget: budget!, cap: 1e6 }), ttl!, 1e-11)
})

test('a rate that halves every minute needs the TTLs of the exact integral', () => {
  // Fine classes stand in for the smooth curve; each has the mean rate between its borders.
  const decay = 60 / Math.LN2
  const borders = Array.from({ length: 6000 }, (_, i) => i)
  const shape = borders.map((a) => decay * (Math.exp(-a / decay) - Math.exp(-(a + 1) / decay)))
  const vectors = [
    [5, 5.098],
    [10, 10.4],
    [20, 21.69],
    [40, 47.59],
    [80, 120.7],
    [160, 1045],
    [320, 86400],
  ]
  for (const [constant, exact] of vectors) {
    const rate = 0.103478831546223 / constant!
    const curve = curveOf(
      borders,
      shape.map((share) => share * rate),
    )
    assertNear(invert(curve, 0, { budget: 0.05, cap: 86400 }), exact!, 1e-3)
  }
})

test('under heavy-tailed lateness the TTL is linear in age', () => {
  const vectors: [k: number, budget: number, perAge: number][] = [
    [0.1, 0.01, 0.2153],
    [0.5, 0.01, 0.04081],
    [1, 0.05, 0.10708],
    [0.25, 0.1, 1.13701],
    [2, 0.1, 0.11111],
  ]
  const ratio = 1.001
  const borders = Array.from({ length: 9000 }, (_, i) => ratio ** i)
  for (const [k, budget, perAge] of vectors) {
    const curve = curveOf(
      borders,
      borders.map((a) => (k * Math.log(ratio)) / (a * (ratio - 1))),
    )
    for (const age of [20, 300]) assertNear(invert(curve, age, { budget, cap: 1e6 }), perAge * age, 1e-3)
  }
})

/**
 * The share of `ttl` in which a copy that was fetched at `age` is expected to be out of date. It never adds a short TTL to
 * a large age, which would lose digits.
 */
function staleOver({ borders, rates }: AgeCurve, age: number, ttl: number): number {
  let [hazard, spent, stale] = [0, 0, 0]
  for (let at = classOf(borders, age); spent < ttl; at++) {
    const until = Math.min(endOfClass(borders, at) - age, ttl)
    const [stay, rate] = [until - spent, rates[at]!]
    stale += stay * (1 - Math.exp(-hazard) * (1 - staleFraction(rate, stay)))
    hazard += rate * stay
    spent = until
  }
  return stale / ttl
}

const rates = fc.oneof(
  fc.constant(0),
  fc.double({ min: -9, max: 1, noNaN: true }).map((exponent) => 10 ** exponent),
)
const curves = fc
  .array(fc.tuple(fc.double({ min: 0.1, max: 5000, noNaN: true }), rates), { minLength: 1, maxLength: 25 })
  .map((classes) => {
    let border = 0
    return curveOf(
      classes.map(([width]) => (border += width)),
      classes.map(([, rate]) => rate),
    )
  })

test('the inverted TTL uses up the budget exactly, or reaches the cap', () => {
  fc.assert(
    fc.property(
      curves,
      fc.double({ min: -100, max: 20_000, noNaN: true }),
      fc.double({ min: 1e-5, max: 0.9, noNaN: true }),
      (curve, age, budget) => {
        const ttl = invert(curve, age, { budget, cap: 86_400 })
        if (ttl === 86_400) assert.ok(staleOver(curve, age, ttl) <= budget * (1 + 1e-9))
        else assertNear(staleOver(curve, age, ttl), budget, 1e-7)
      },
    ),
    { numRuns: 500 },
  )
})

test('a gap is split over the classes that it crosses', () => {
  fc.assert(
    fc.property(
      curves,
      fc.double({ min: -100, max: 20_000, noNaN: true }),
      fc.double({ min: 1e-3, max: 1e5, noNaN: true }),
      ({ borders }, from, length) => {
        const into = new Float64Array(borders.length)
        const first = classOf(borders, from)
        const count = splitGap(borders, { from, to: from + length }, into)
        let age = from
        for (let i = 0; i < count; i++) {
          assert.ok(into[i]! > 0)
          assert.equal(classOf(borders, age), first + i)
          age = Math.min(from + length, borders[first + i + 1] ?? Number.POSITIVE_INFINITY)
        }
        assert.equal(age, from + length)
      },
    ),
  )
})

test('an age belongs to the class whose border it has reached', () => {
  const borders = Float64Array.of(Number.NEGATIVE_INFINITY, 0, 60, 120)
  for (const [age, expected] of [
    [-1, 0],
    [0, 1],
    [59.9, 1],
    [60, 2],
    [1e9, 3],
  ]) {
    assert.equal(classOf(borders, age!), expected)
  }
})
