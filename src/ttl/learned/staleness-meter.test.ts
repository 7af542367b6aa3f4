import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { seededRandom } from '../../testing/random.ts'
import { wilson } from './bounds.ts'
import type { StalenessSample } from './learning.ts'
import { StalenessMeter, stalenessGroups } from './staleness-meter.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const age = 3 * minute

const sampleAt = (at: number, isStale: boolean, more: Partial<StalenessSample> = {}): StalenessSample => ({
  kind: 'sample',
  ...{ at, ageMs: age, isStale, error: isStale ? 0.25 : 0 },
  ...more,
})

function assertClose(actual: number, expected: number, tolerance = 1e-12) {
  const difference = Math.abs(actual - expected)
  assert.ok(difference <= tolerance * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`)
}

test('without a sample anything is possible, and nothing is corrected', () => {
  const meter = new StalenessMeter()
  assert.deepEqual(meter.measured(age), { estimate: 0, low: 0, high: 1, samples: 0, error: 0 })
  assert.equal(meter.factor(age, 0.01), 1)
})

test('single samples have the interval of independent draws', () => {
  const meter = new StalenessMeter()
  for (let i = 0; i < 300; i++) meter.sample(sampleAt(i * 10 * second, i % 100 === 0))
  // Fifty minutes of forgetting are within the tolerance.
  const { low, high } = wilson(3, 300)
  const measured = meter.measured(age)
  assertClose(measured.estimate, 0.01, 2e-4)
  assertClose(measured.low, low, 1e-3)
  assertClose(measured.high, high, 1e-3)
  assertClose(measured.error, 0.25)
  assert.ok(measured.samples > 295 && measured.samples <= 300)
})

test('samples of the same moment are one cluster: they carry less information if they agree', () => {
  const meter = new StalenessMeter()
  for (let probe = 0; probe < 20; probe++) {
    for (let i = 0; i < 10; i++) meter.sample(sampleAt(probe * 10 * second + i * 100, probe === 19))
  }
  // 20 probes of 10, one all stale: the golden vector of the interval by cluster.
  const measured = meter.measured(age)
  assertClose(measured.estimate, 0.05, 1e-4)
  assertClose(measured.low, 0.0085650069, 1e-3)
  assertClose(measured.high, 0.2427962947, 1e-3)
})

test('the interval of a day of samples holds the truth in 95 of 100 runs', () => {
  for (const truth of [0.01, 0.05]) {
    const random = seededRandom(11)
    let covered = 0
    for (let run = 0; run < 400; run++) {
      const meter = new StalenessMeter()
      for (let i = 0; i < 490; i++) meter.sample(sampleAt(i * 176 * second, random() < truth))
      const { low, high } = meter.measured(age)
      if (low <= truth && truth <= high) covered++
    }
    assert.ok(covered >= 380, `${covered} of 400 at ${truth}`)
  }
})

test('an event that another thread saw earlier opens no second cluster', () => {
  const meter = new StalenessMeter()
  for (const at of [100 * second, 89 * second, 101 * second]) meter.sample(sampleAt(at, false))
  const [clusters, samples] = meter.sums().slice(10)
  assertClose(clusters!, 1, 1e-4)
  assertClose(samples!, 3, 1e-4)
})

test('each age is measured in its group', () => {
  const meter = new StalenessMeter()
  const ages = [-minute, 0, 2 * minute - 1, 2 * minute, 10 * minute, hour, 6 * hour, day, 300 * day]
  for (const ageMs of ages) meter.sample(sampleAt(0, false, { ageMs }))
  assert.deepEqual(
    meter.groups().map(({ samples }) => samples),
    [3, 1, 1, 1, 1, 2],
  )
  assert.deepEqual(
    meter.groups().map(({ fromMs }) => fromMs),
    stalenessGroups,
  )
  assert.equal(meter.groups()[0]!.toMs, 2 * minute)
  assert.equal(meter.groups()[5]!.toMs, Number.POSITIVE_INFINITY)
  assert.equal(meter.measured(5 * hour).samples, 1)
})

test('half is forgotten after 24 hours', () => {
  const meter = new StalenessMeter()
  for (let i = 0; i < 100; i++) meter.sample(sampleAt(0, i < 10))
  meter.decay(6 * hour)
  meter.decay(day)
  assertClose(meter.measured(age).samples, 50)
  assertClose(meter.measured(age).estimate, 0.1)
  meter.decay(0)
  assertClose(meter.measured(age).samples, 50)
})

test('an error that is beyond all measure counts as 100 %', () => {
  const meter = new StalenessMeter()
  for (const error of [0.5, 7, Number.POSITIVE_INFINITY, Number.NaN]) {
    meter.sample(sampleAt(0, true, { error }))
  }
  assertClose(meter.measured(age).error, 0.875)
})

test('sums of another length are not used', () => {
  const meter = new StalenessMeter()
  meter.add(new Float64Array(3).fill(7))
  meter.setForeign(new Float64Array(3).fill(7))
  assert.equal(meter.measured(age).samples, 0)
})

const anySample = fc.record({
  window: fc.nat(50),
  ageMs: fc.constantFrom(-1, age, 2 * hour, 2 * day),
  isStale: fc.boolean(),
})

test('nodes merge by addition, in any order, by exchange or by adoption', () => {
  fc.assert(
    fc.property(fc.array(fc.array(anySample, { maxLength: 20 }), { maxLength: 4 }), (nodes) => {
      const meters = nodes.map((samples) => {
        const meter = new StalenessMeter()
        const inOrder = samples.toSorted((a, b) => a.window - b.window)
        for (const { window, ageMs, isStale } of inOrder) {
          meter.sample(sampleAt(window * 10 * second, isStale, { ageMs, budget: 0.01 }))
        }
        meter.decay(hour)
        return meter
      })
      const adopted = [meters, meters.toReversed()].map((order) => {
        const whole = new StalenessMeter()
        for (const meter of order) whole.add(meter.sums())
        return whole
      })
      const [first, reversed] = [adopted[0]!, adopted[1]!]
      first.sums().forEach((sum, i) => {
        assertClose(sum, reversed.sums()[i]!)
      })
      const exchanged = new StalenessMeter()
      exchanged.setForeign(new Float64Array(first.sums().length).fill(1))
      exchanged.setForeign(first.sums())
      assert.deepEqual(exchanged.groups(), first.groups())
      assert.equal(exchanged.factor(age, 0.01), first.factor(age, 0.01))
      assert.ok(exchanged.sums().every((sum) => sum === 0))
    }),
  )
})

interface Stream {
  readonly seed: number
  readonly budget: number
  /** Staleness without a correction, in budgets. */
  readonly excess: (elapsedMs: number) => number
  readonly days: number
  readonly perDay: number
}

/** The factor after every sample, where staleness follows the factor as TTLs that are computed from it make it do. */
function factorsOf({ seed, budget, excess, days, perDay }: Stream): number[] {
  const random = seededRandom(seed)
  const meter = new StalenessMeter()
  return Array.from({ length: days * perDay }, (_, i) => {
    const at = (i * day) / perDay
    const share = budget * excess(at) * meter.factor(age, budget)
    meter.sample(sampleAt(at, random() < share))
    return meter.factor(age, budget)
  })
}

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
const seeds = Array.from({ length: 10 }, (_, i) => i * 101 + 7)

for (const [budget, perDay] of [
  [0.05, 490],
  [0.01, 2450],
] as const) {
  const name = `budget ${budget}, ${perDay} samples a day`
  test(`${name}: staleness of twice the budget halves it within two days`, () => {
    const runs = seeds.map((seed) => factorsOf({ seed, budget, excess: () => 2, days: 6, perDay }))
    assert.ok(runs.flat().every((factor) => factor >= 0.5 && factor <= 1))
    assert.ok(meanOf(runs.map((factors) => Math.min(...factors.slice(0, 2 * perDay)))) < 0.53)
    const settled = runs.map((factors) => meanOf(factors.slice(2 * perDay)))
    assert.ok(meanOf(settled) < 0.57 && Math.max(...settled) < 0.7, `${settled}`)
  })

  test(`${name}: the factor is 1 again two days after staleness fell to half the budget`, () => {
    const excess = (elapsedMs: number) => (elapsedMs < 4 * day ? 2 : 0.5)
    const runs = seeds.map((seed) => factorsOf({ seed, budget, excess, days: 8, perDay }))
    assert.ok(meanOf(runs.map((factors) => factors[4 * perDay - 1]!)) < 0.6)
    assert.ok(runs.every((factors) => factors.slice(6 * perDay).every((factor) => factor === 1)))
  })

  test(`${name}: staleness of exactly the budget is left alone`, () => {
    const means = seeds.map((seed) => {
      const factors = factorsOf({ seed, budget, excess: () => 1, days: 8, perDay })
      const afterFirstDay = factors.slice(perDay)
      for (const [i, factor] of afterFirstDay.entries()) {
        assert.ok(
          Math.abs(factor - (afterFirstDay[i - 1] ?? factor)) < 0.2,
          `seed ${seed}: it jumps to ${factor}`,
        )
      }
      return meanOf(afterFirstDay)
    })
    assert.ok(meanOf(means) > 0.98, `${meanOf(means)}`)
    assert.ok(Math.min(...means) > 0.9)
  })
}

test('staleness that does not follow the factor ends at the smallest factor', () => {
  const random = seededRandom(3)
  const meter = new StalenessMeter()
  for (let i = 0; i < 1000; i++) {
    meter.factor(age, 0.05)
    meter.sample(sampleAt(i * 3 * minute, random() < 0.1))
  }
  assert.equal(meter.factor(age, 0.05), 0.5)
})

test('fewer than five stale samples correct nothing', () => {
  const meter = new StalenessMeter()
  for (let i = 0; i < 4; i++) meter.sample(sampleAt(i * minute, true, { budget: 0.01 }))
  assert.equal(meter.factor(age, 0.01), 1)
  for (let i = 4; i < 10; i++) meter.sample(sampleAt(i * minute, true, { budget: 0.01 }))
  assert.equal(meter.factor(age, 0.01), 0.5)
})

test('one group’s staleness corrects no other group', () => {
  const meter = new StalenessMeter()
  for (let i = 0; i < 50; i++) meter.sample(sampleAt(i * minute, true, { budget: 0.01 }))
  assert.equal(meter.factor(age, 0.01), 0.5)
  for (const other of [-1, 30 * minute, 2 * hour, 12 * hour, 2 * day])
    assert.equal(meter.factor(other, 0.01), 1)
})

test('a large budget that is kept does not tighten a small one of the same backend', () => {
  const random = seededRandom(5)
  const meter = new StalenessMeter()
  for (let i = 0; i < 4000; i++) {
    const budget = i % 2 === 0 ? 0.01 : 0.1
    meter.sample(sampleAt(i * minute, random() < budget, { budget }))
  }
  assert.ok(meter.measured(age).low > 0.04)
  assert.equal(meter.factor(age, 0.01), 1)
})

test('samples of shapes without a budget are measured, and correct nothing', () => {
  const meter = new StalenessMeter()
  for (let i = 0; i < 100; i++) meter.sample(sampleAt(i * minute, true))
  assert.ok(meter.measured(age).low > 0.9)
  assert.equal(meter.factor(age, 0.01), 1)
})
