import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ageBorders } from './age-classes.ts'
import { invert } from './age-curve.ts'
import { areSums, decaySums, Evidence, type Gaps } from './evidence.ts'
import { oneSided80 } from './level.ts'
import { deviationOf, dispersionOf, nextAlarm } from './surprise.ts'

type Seen = readonly [age: number, gap: number, changed: boolean]

const gapsOf = (seen: readonly Seen[]): Gaps => ({
  oldAges: Float64Array.from(seen, ([age]) => age),
  newAges: Float64Array.from(seen, ([age, gap]) => age + gap),
  changed: Uint8Array.from(seen, ([, , changed]) => (changed ? 1 : 0)),
})

function assertNear(actual: number | undefined, expected: number, tolerance = 1e-8): void {
  assert.ok(Math.abs(actual! - expected) <= tolerance * Math.abs(expected), `${actual} is not ${expected}`)
}

test('a change is shared out over the classes of its gap by their rates', () => {
  const evidence = new Evidence(Float64Array.of(0, 60, 120), Float64Array.of(0.05, 0.01, 0.001))
  const seen: Seen[] = [
    [30, 60, true],
    [100, 200, true],
    [0, 10, false],
  ]
  evidence.observe(gapsOf(seen))
  const [changes, exposure] = [evidence.sums().subarray(0, 3), evidence.sums().subarray(3, 6)]
  for (const [at, expected] of [1.797050439772509, 0.9920440207550167, 0.5693705395204635].entries())
    assertNear(changes[at], expected)
  assert.deepEqual([...exposure], [40, 50, 180])
})

test('repeated, it converges to the maximum likelihood with half a pseudo-observation', () => {
  const vectors: [changed: number[], unchanged: number[], rate: number][] = [
    [[10, 20], [5, 40], 0.0293434657],
    [[5, 5, 80], [10, 10, 20, 40], 0.0240071281],
    [[5, 10, 20], [], 0.1821276436],
  ]
  for (const [changed, unchanged, expected] of vectors) {
    const gaps = [...changed, ...unchanged]
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
    const seen: Seen[] = [
      ...changed.map((gap): Seen => [0, gap, true]),
      ...unchanged.map((gap): Seen => [0, gap, false]),
      [0, mean / 2, false],
    ]
    let rate = 0.01
    for (let i = 0; i < 2000; i++) {
      const evidence = new Evidence(Float64Array.of(0), Float64Array.of(rate))
      evidence.observe(gapsOf(seen))
      evidence.fit(Float64Array.of(1))
      rate = evidence.sums()[0]! / evidence.sums()[1]!
    }
    assertNear(rate, expected)
  }
})

test('data that never changed has an upper bound', () => {
  const evidence = new Evidence(Float64Array.of(0), Float64Array.of(1e-12))
  const seen = Array.from({ length: 1440 }, (): Seen => [0, 3600, false])
  evidence.observe(gapsOf(seen))
  evidence.fit(Float64Array.of(1e-12))
  const { upper, changes } = evidence.bound(0, 0.8416212335729143)
  assertNear(upper, 3.0850124414611604e-7)
  assert.equal(changes, 0)
  assertNear(
    invert({ borders: Float64Array.of(0), rates: Float64Array.of(upper) }, 0, { budget: 0.01, cap: 86_400 }),
    65265.39194514299,
  )
  assert.equal(evidence.observations(0), 1440)
})

test('neighbours that change together are overdispersed, at most by their number', () => {
  const sum = (groups: number[][]) => {
    const deviations = groups.map(([changed, expected, variance]) =>
      deviationOf({ changed: changed!, expected: expected!, variance: variance! }),
    )
    return {
      seen: deviations.reduce((total, { seen }) => total + seen, 0),
      expected: deviations.reduce((total, { expected }) => total + expected, 0),
    }
  }
  const together = sum([
    [0, 2, 1.96],
    [100, 2, 1.96],
  ])
  assertNear((together.seen + 2) / (together.expected + 2), 1226.0102040816328)
  assert.equal(dispersionOf(together, 100), 100)
  const alone = sum([
    [1, 2, 1.96],
    [3, 2, 1.96],
    [2, 2, 1.96],
  ])
  assert.equal(dispersionOf(alone, 100), 1)
  assert.equal(dispersionOf({ seen: 0, expected: 0 }, Number.NaN), 1)
})

test('the alarm rises with unexpected changes', () => {
  let alarm = 0
  const steps = [
    [0, 0],
    [3, 2.295836866],
    [1, 2.394449155],
    [5, 5.394449155],
    [4, 8.394449155],
  ]
  for (const [changed, expected] of steps) {
    alarm = nextAlarm(alarm, { changed: changed!, expected: 0.5, dispersion: 1 })
    assertNear(alarm, expected!)
  }
  assert.equal(nextAlarm(0, { changed: 6, expected: 0.5, dispersion: 1 }), 3)
})

test('an alarm restarts the recent track only, and raises the bound', () => {
  const evidence = new Evidence(Float64Array.of(0), Float64Array.of(1e-4))
  const quiet = Array.from({ length: 100 }, (_, i): Seen => [0, 100, i === 0])
  for (let i = 0; i < 50; i++) evidence.observe(gapsOf(quiet))
  evidence.fit(Float64Array.of(1e-4))
  const before = evidence.bound(0, oneSided80).upper
  const loud = Array.from({ length: 100 }, (_, i): Seen => [0, 100, i < 20])
  let alarms = 0
  for (let i = 0; i < 4; i++) alarms += evidence.observe(gapsOf(loud)) ? 1 : 0
  evidence.fit(Float64Array.of(1e-4))
  assert.equal(alarms, 1)
  const [changes, exposure, recent, recentExposure] = evidence.sums()
  assert.ok(recent! / recentExposure! > 2 * (changes! / exposure!))
  assert.ok(evidence.bound(0, oneSided80).upper > 3 * before)
  assertNear(exposure, 540_000)
})

test('sums lose half of themselves in a half-life', () => {
  const sums = Float64Array.of(100, 100)
  decaySums(sums, 2, Float64Array.of(6, Number.POSITIVE_INFINITY))
  assertNear(sums[0], 79.37005259840998)
  assert.equal(sums[1], 100)
})

const seen = fc.array(
  fc.tuple(fc.integer({ min: -60_000, max: 1e8 }), fc.integer({ min: 1, max: 1e8 }), fc.boolean()),
  { maxLength: 30 },
)
const rates = new Float64Array(ageBorders.length).fill(1e-6)

test('the sums of two nodes are those of one that saw both, in any order', () => {
  fc.assert(
    fc.property(fc.array(seen, { maxLength: 6 }), fc.array(seen, { maxLength: 6 }), (here, there) => {
      const [one, other, both] = [0, 0, 0].map(() => new Evidence(ageBorders, rates))
      // An alarm depends on the order in which a node sees things, so there are no more refetches than it takes for one.
      for (const each of here.slice(0, 1)) for (const node of [one!, both!]) node.observe(gapsOf(each))
      for (const each of there.slice(0, 1)) for (const node of [other!, both!]) node.observe(gapsOf(each))
      const [mine, theirs] = [one!.sums(), other!.sums()]
      one!.add(theirs)
      other!.add(mine)
      assert.deepEqual(one!.sums(), other!.sums())
      for (const [i, sum] of both!.sums().entries()) assert.ok(Math.abs(sum - one!.sums()[i]!) <= 1e-9 * sum)
      one!.fit(rates)
      both!.fit(rates)
      for (let at = 0; at < ageBorders.length; at++)
        assert.ok(
          Math.abs(one!.bound(at, oneSided80).upper / both!.bound(at, oneSided80).upper - 1 || 0) < 1e-9,
        )
    }),
  )
})

test('sums of other nodes count as if they were its own', () => {
  const [one, other] = [new Evidence(ageBorders, rates), new Evidence(ageBorders, rates)]
  other.observe(gapsOf(Array.from({ length: 50 }, (_, i): Seen => [0, 30_000, i % 2 === 0])))
  one.setForeign([other.sums()])
  one.fit(rates)
  other.fit(rates)
  assert.deepEqual(one.bound(1, oneSided80), other.bound(1, oneSided80))
  assert.equal(one.observations(1), 50)
  assert.ok(one.sums().every((sum) => sum === 0))
  one.setForeign([])
  assert.equal(one.observations(1), 0)
})

test('garbage is neither counted nor does it throw', () => {
  const numbers = fc.oneof(
    fc.double(),
    fc.integer(),
    fc.constantFrom(Number.NaN, 1e308, -1e308, Number.POSITIVE_INFINITY),
  )
  fc.assert(
    fc.property(fc.array(numbers), fc.array(numbers), fc.array(fc.nat(255)), (oldAges, newAges, changed) => {
      const evidence = new Evidence(ageBorders, rates)
      evidence.observe({
        oldAges: Float64Array.from(oldAges),
        newAges: Float64Array.from(newAges),
        changed: Uint8Array.from(changed),
      })
      assert.ok(areSums(evidence.sums(), ageBorders))
    }),
  )
  assert.equal(areSums(new Float64Array(3), ageBorders), false)
  assert.equal(areSums(new Evidence(ageBorders, rates).sums().fill(Number.NaN), ageBorders), false)
})
