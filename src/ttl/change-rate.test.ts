import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { seededRandom } from '../testing/random.ts'
import { estimateRate } from './change-rate.ts'

const observe = (changed: readonly number[], unchanged: readonly number[]) => [
  ...changed.map((gap) => ({ gap, changed: true })),
  ...unchanged.map((gap) => ({ gap, changed: false })),
]

function assertClose(actual: number, expected: number, tolerance: number) {
  const difference = Math.abs(actual - expected)
  assert.ok(difference <= tolerance * Math.abs(expected), `${actual} is not ${expected}`)
}

test('equal gaps: the bias-reduced closed form', () => {
  const table: [n: number, changes: number, gap: number, rate: number][] = [
    [10, 4, 7, 0.06851044],
    [50, 5, 30, 0.003475367],
    [100, 10, 5, 0.0209615754],
    [3, 3, 5, 0.3891820298],
    [10, 10, 60, 0.0507420406],
    [1, 1, 5, 0.2197224577],
    [7, 0, 5, 0],
  ]
  for (const [n, changes, gap, rate] of table) {
    const estimate = estimateRate(observe(Array(changes).fill(gap), Array(n - changes).fill(gap)))
    assert.equal(Number(estimate.rate.toFixed(10)), rate)
    assertClose(estimate.rate, -Math.log((n - changes + 0.5) / (n + 0.5)) / gap, 1e-14)
    assert.equal(estimate.n, n)
  }
})

test('irregular gaps', () => {
  const table: [changed: number[], unchanged: number[], rate: number][] = [
    [[10, 20], [5, 40], 0.0293434657],
    [[5], [10, 20, 40], 0.0122175384],
    [[80], [5, 5, 5, 5], 0.0162410373],
    [[5, 5, 80], [10, 10, 20, 40], 0.0240071281],
    [[5, 10, 20], [], 0.1821276436],
    [[], [5, 10, 20], 0],
  ]
  for (const [changed, unchanged, rate] of table) {
    const estimate = estimateRate(observe(changed, unchanged))
    assert.equal(Number(estimate.rate.toFixed(10)), rate)
    assert.ok(estimate.upper95 > rate && estimate.upper95 < Number.POSITIVE_INFINITY)
  }
})

test('data that never changed gets an upper bound, not a rate of 0', () => {
  const { rate, upper95 } = estimateRate(observe([], [5, 10, 20]))
  assert.equal(rate, 0)
  assert.equal(Number(upper95.toFixed(10)), 0.0855923507)
  assert.equal((upper95 * 35).toFixed(4), '2.9957')
})

test('without an observation any rate is possible', () => {
  assert.deepEqual(estimateRate([]), { rate: 0, upper95: Number.POSITIVE_INFINITY, n: 0 })
})

test('rare changes are bounded as counted ones are', () => {
  // 5 changes in a time of 100,000: the exact 95 % bound of a Poisson count is 10.513.
  const { upper95 } = estimateRate(observe(Array(5).fill(10), Array(9995).fill(10)))
  assertClose(upper95 * 100_000, 10.513, 0.01)
})

test('the true rate is below the upper bound in about 95 of 100 cases, for short and for long gaps', () => {
  const random = seededRandom(15)
  for (const rate of [0.1, 0.3, 1, 2]) {
    let covered = 0
    for (let run = 0; run < 1000; run++) {
      const gaps = Array.from({ length: 30 }, () => [0.25, 0.5, 1, 1.25, 2][Math.floor(random() * 5)]!)
      const seen = gaps.map((gap) => ({ gap, changed: random() < -Math.expm1(-rate * gap) }))
      if (estimateRate(seen).upper95 >= rate) covered++
    }
    assert.ok(covered >= 930, `${covered} of 1000 at ${rate}`)
  }
})

test('gaps that cannot show a change are refused with a sentence', () => {
  for (const gap of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(
      () =>
        estimateRate([
          { gap: 1, changed: true },
          { gap, changed: false },
        ]),
      (error) => error instanceof RangeError && /^The gap of an observation must .*\.$/.test(error.message),
    )
  }
})

const gap = fc.double({ min: 1e-3, max: 1e6, noNaN: true })
const observations = fc.array(fc.record({ gap, changed: fc.boolean() }), { minLength: 1, maxLength: 50 })

test('the estimate solves the likelihood equation, is finite, and does not depend on order or unit', () => {
  fc.assert(
    fc.property(observations, fc.double({ min: 1e-6, max: 1e6, noNaN: true }), (seen, unit) => {
      const { rate, upper95, n } = estimateRate(seen)
      assert.ok(rate >= 0 && rate < upper95 && upper95 < Number.POSITIVE_INFINITY)
      assert.equal(n, seen.length)
      const inUnit = seen.map(({ gap, changed }) => ({ gap: gap * unit, changed })).reverse()
      assertClose(estimateRate(inUnit).rate * unit, rate, 1e-9)
      assertClose(estimateRate(inUnit).upper95 * unit, upper95, 1e-9)
      if (rate === 0) return assert.ok(seen.every(({ changed }) => !changed))
      // One step of expectation and maximisation leaves the estimate where it is.
      const total = seen.reduce((sum, { gap }) => sum + gap, 0)
      const expected = seen.reduce(
        (sum, { gap, changed }) => sum + (changed ? (rate * gap) / -Math.expm1(-rate * gap) : 0),
        0,
      )
      assertClose(expected / (total + total / n / 2), rate, 1e-9)
    }),
  )
})

test('one more change never lowers the estimate, one more gap without a change lowers it', () => {
  fc.assert(
    fc.property(observations, (seen) => {
      const mean = seen.reduce((sum, { gap }) => sum + gap, 0) / seen.length
      const { rate } = estimateRate(seen)
      assert.ok(estimateRate([...seen, { gap: mean, changed: true }]).rate >= rate * (1 - 1e-12))
      if (rate > 0) assert.ok(estimateRate([...seen, { gap: mean, changed: false }]).rate < rate)
    }),
  )
})
