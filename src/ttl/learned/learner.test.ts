import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/random.ts'
import { ladder } from '../ladder.ts'
import { ageBorders } from './age-classes.ts'
import { type EvidenceRow, Learner, type LearnerOptions } from './learner.ts'
import type { LearnedEvent, LearnedShape, LearnedTerms, Refetch, ServedShape } from './learning.ts'

const minute = 60_000
const hour = 60 * minute
const terms: LearnedTerms = { budget: 0.05, floorMs: 5_000, capMs: 24 * hour, settledAgeMs: 11 * minute }
const grid = { step: minute, origin: 0 }
const shapeOf = (key: string, ...sources: string[]): ServedShape => ({ key, sources, grid })

function rig(options: Partial<LearnerOptions> = {}) {
  const clock = fakeClock()
  const learner = new Learner({ clock, lapsesOnEpochs: false, ...options })
  const move = (ms: number) => clock.jump(clock.now() + ms)
  const random = seededRandom(7)
  /** 1500 buckets, a minute apart, all refetched after ten minutes; of each a `share` had changed. */
  const refetch = (shape: LearnedShape, share: number): Refetch => ({
    kind: 'refetch',
    shape,
    at: clock.now(),
    oldAges: new Float64Array(1500).map((_, i) => i * minute),
    newAges: new Float64Array(1500).map((_, i) => (i + 10) * minute),
    changed: new Uint8Array(1500).map(() => (random() < share ? 1 : 0)),
  })
  /** Refetches every ten minutes. */
  const teach = (shape: LearnedShape, share: number, turns = 144) => {
    for (let i = 0; i < turns; i++) {
      move(10 * minute)
      learner.observe(refetch(shape, share))
    }
  }
  return { clock, learner, move, refetch, teach }
}

test('as long as nothing is known, TTLs are those of the published ladder, or somewhat shorter', () => {
  for (const budget of [0.01, 0.05, 0.3]) {
    const policy = rig().learner.policyFor({ ...terms, budget }, shapeOf('a', 'up'))
    assert.equal(policy.name, 'learned')
    assert.equal(policy.settledAgeMs, terms.settledAgeMs)
    for (let age = -minute; age < 30 * hour; age += 5_000) {
      const [ttl, rung] = [policy.ttl(age), ladder().ttl(age)]
      // Young classes are wider than the ladder's steps.
      assert.ok(ttl <= rung && ttl >= (age < 15 * minute ? 0.25 : 0.99) * rung, `${age}: ${ttl} ${rung}`)
    }
  }
})

test('data that changes often gets short TTLs, and data that never changes long ones', () => {
  const { learner, teach } = rig()
  const [busy, quiet] = [shapeOf('busy', 'requests'), shapeOf('quiet', 'limits')]
  teach(busy, 0.1)
  teach(quiet, 0)
  const [short, long] = [busy, quiet].map((shape) => learner.policyFor(terms, shape).ttl(hour))
  // One in ten changes in 10 min, and the budget allows 0.1035 changes within a TTL.
  assert.ok(short! > 8 * minute && short! < 10 * minute, `${short}`)
  assert.ok(long! > 12 * hour, `${long}`)
})

test('a new shape starts from its source, and one of an unknown source from the backend', () => {
  const { learner, teach } = rig()
  teach(shapeOf('busy', 'requests'), 0.1)
  teach(shapeOf('quiet', 'limits'), 0)
  const ttl = (key: string, ...sources: string[]) =>
    learner.policyFor(terms, shapeOf(key, ...sources)).ttl(hour)
  const [busy, quiet] = [ttl('busy', 'requests'), ttl('quiet', 'limits')]
  assert.ok(Math.abs(ttl('new busy', 'requests') / busy - 1) < 0.01)
  assert.equal(ttl('new quiet', 'limits'), quiet)
  const unknown = ttl('unknown', 'errors')
  assert.ok(unknown > busy && unknown < quiet)
  assert.equal(ttl('without a source'), unknown)
  // A shape that reads both metrics changes as often as the one that changes more.
  assert.equal(ttl('both', 'limits', 'requests'), ttl('new busy', 'requests'))
})

test('policies with different budgets learn from the same evidence', () => {
  const { learner, teach } = rig()
  const tight = { ...terms, budget: 0.01 }
  const shape = shapeOf('busy', 'requests')
  // Without evidence, both are the ladder.
  for (const each of [terms, tight])
    assert.ok(Math.abs(learner.policyFor(each, shape).ttl(hour) / hour - 1) < 0.01)
  teach(shape, 0.1)
  const ratio = learner.policyFor(terms, shape).ttl(hour) / learner.policyFor(tight, shape).ttl(hour)
  assert.ok(Math.abs(ratio - 0.103478 / 0.0201344) < 0.3, `${ratio}`)
})

test('the same object until something was learned', () => {
  const { learner, teach, move } = rig()
  const shape = shapeOf('a', 'up')
  const first = learner.policyFor(terms, shape)
  move(59_000)
  assert.equal(learner.policyFor({ ...terms }, shape), first)
  move(24 * hour)
  assert.equal(learner.policyFor(terms, shape), first, 'nothing was seen')
  teach(shape, 0.2)
  const second = learner.policyFor(terms, shape)
  assert.notEqual(second, first)
  assert.equal(learner.policyFor(terms, shape), second)
})

test('an alarm takes effect before the next tick', () => {
  const { learner, teach, move, refetch } = rig()
  const shape = shapeOf('a', 'up')
  teach(shape, 0.0025)
  const before = learner.policyFor(terms, shape).ttl(hour)
  for (let i = 0; i < 12; i++) {
    move(4_000)
    learner.observe(refetch(shape, 0.05))
  }
  const after = learner.policyFor(terms, shape).ttl(hour)
  assert.ok(after < before / 3, `${before} ${after}`)
})

test('on epochs, settled neighbours lapse together, and each shape at its own time', () => {
  const { learner, clock } = rig({ lapsesOnEpochs: true })
  const { plateaus, ttl } = learner.policyFor(terms, shapeOf('a', 'up'))
  const lapses = [0, 7, 1000, 9_999].map((later) => plateaus!.lapseOf(clock.now() + later, ttl(hour)))
  assert.ok(new Set(lapses).size <= 2)
  const other = learner.policyFor(terms, shapeOf('b', 'up'))
  assert.notEqual(other.plateaus!.lapseOf(clock.now(), ttl(hour)), lapses[0])
})

test('the evidence of two nodes adds up to that of one that saw both', () => {
  const [one, other, both] = [rig(), rig(), rig()]
  const shape = shapeOf('a', 'up')
  for (let i = 0; i < 100; i++) {
    for (const { move } of [one, other, both]) move(10 * minute)
    const [here, there] = [one.refetch(shape, 0.04), one.refetch(shape, 0.05)]
    one.learner.observe(here)
    other.learner.observe(there)
    both.learner.observe(here)
    both.learner.observe(there)
  }
  const merged = rig()
  merged.move(1000 * minute)
  merged.learner.setForeign([...one.learner.own(), ...other.learner.own()])
  const [expected, actual] = [both, merged].map(({ learner }) => learner.policyFor(terms, shape).ttl(hour))
  assert.ok(Math.abs(actual! / expected! - 1) < 0.03, `${actual} ${expected}`)
  assert.ok(merged.learner.own().length === 0)
  // Rows of other nodes replace those before; adopted ones stay.
  merged.learner.setForeign([])
  merged.learner.adopt(one.learner.own())
  merged.learner.adopt(other.learner.own())
  const adopted = merged.learner.policyFor(terms, shape).ttl(hour)
  assert.ok(Math.abs(adopted / expected! - 1) < 0.03, `${adopted} ${expected}`)
})

test('rows are decayed up to their time', () => {
  const { learner, teach, move } = rig()
  teach(shapeOf('a', 'up'), 0.05)
  const [before] = learner.own()
  move(24 * hour)
  const [after] = learner.own()
  assert.equal(after!.at - before!.at, 24 * hour)
  const late = rig()
  late.clock.jump(after!.at)
  late.learner.adopt([before!])
  const [adopted] = late.learner.own()
  for (const [i, sum] of after!.sums.entries())
    assert.ok(Math.abs(sum - adopted!.sums[i]!) <= 1e-9 * sum, `${i}: ${sum} ${adopted!.sums[i]}`)
})

test('other threads get the observations of this one, not their own', () => {
  const told: LearnedEvent[] = []
  const { learner, refetch } = rig({ onEvent: (event) => told.push(event) })
  const event = refetch(shapeOf('a', 'up'), 0)
  learner.apply(event)
  assert.deepEqual(told, [])
  learner.observe(event)
  assert.deepEqual(told, [event])
  assert.deepEqual(
    learner.own().map(({ level, name }) => `${level} ${name}`),
    ['backend ', 'source up', 'shape a'],
  )
})

test('shapes beyond the bound are forgotten, the least recently used first', () => {
  const { learner, refetch } = rig({ maxShapes: 3, maxSources: 2 })
  for (const key of ['a', 'b', 'c', 'a', 'd']) learner.observe(refetch(shapeOf(key, `source of ${key}`), 0))
  const names = (level: string) =>
    learner
      .own()
      .filter((row) => row.level === level)
      .map(({ name }) => name)
  assert.deepEqual(names('shape'), ['c', 'a', 'd'])
  assert.deepEqual(names('source'), ['source of a', 'source of d'])
  // Those of other nodes do not evict any.
  const row: EvidenceRow = { ...learner.own().at(-1)!, name: 'e' }
  learner.setForeign([row])
  assert.deepEqual(names('shape'), ['c', 'a', 'd'])
  // Creating policies does not, either.
  for (let i = 0; i < 10; i++) learner.policyFor(terms, shapeOf(`${i}`))
  assert.deepEqual(names('shape'), ['c', 'a', 'd'])
})

test('the report has the bound of a class, and the source of its rate', () => {
  const { learner, teach } = rig()
  const shape = shapeOf('a', 'up')
  teach(shapeOf('b', 'up'), 0.9)
  teach(shape, 0)
  const report = learner.report(terms, shape)
  assert.equal(report.length, ageBorders.length)
  for (const { fromMs, rate, rateUpper95, source, observations, ttlMs } of report) {
    assert.ok(rateUpper95 >= rate)
    assert.ok(ttlMs >= terms.floorMs && ttlMs <= terms.capMs)
    // Open buckets were not fetched.
    assert.equal(source, fromMs < 0 ? 'prior' : 'shape', `${fromMs}`)
    // A bucket is counted in the class in which it was half-way between its two fetches.
    assert.ok(fromMs < 5 * minute ? observations === 0 : observations > 10)
  }
  assert.deepEqual(
    report.slice(0, 2).map(({ fromMs, toMs, ttlMs }) => [fromMs, toMs, ttlMs]),
    [
      [Number.NEGATIVE_INFINITY, 0, 5_000],
      [0, minute, report[1]!.ttlMs],
    ],
  )
  const sources = (given?: LearnedShape) => learner.report(terms, given).map(({ source }) => source)
  assert.equal(sources(shapeOf('new', 'up')).at(5), 'source')
  assert.equal(sources(shapeOf('new')).at(5), 'backend')
  assert.equal(sources().at(5), 'backend')
  assert.equal(learner.report({ ...terms, floorMs: hour }).at(5)!.boundBy, 'floor')
  assert.equal(learner.report({ ...terms, capMs: hour }, shape).at(5)!.boundBy, 'cap')
  assert.equal(learner.report(terms).at(5)!.boundBy, undefined)
})

test('garbage neither throws nor teaches', () => {
  const { learner, clock } = rig()
  const shape = shapeOf('a', 'up')
  const policy = learner.policyFor(terms, shape)
  const number = fc.oneof(fc.double(), fc.constantFrom(0, 1e308, -1e308))
  const refetches = fc.record({
    kind: fc.constant('refetch' as const),
    shape: fc.constant(shape),
    at: fc.oneof(fc.constant(clock.now()), number),
    oldAges: fc.array(number).map((ages) => Float64Array.from(ages)),
    newAges: fc.array(number).map((ages) => Float64Array.from(ages)),
    changed: fc.uint8Array(),
  })
  const samples = fc.record({
    kind: fc.constant('sample' as const),
    at: fc.oneof(fc.constant(clock.now()), number),
    ageMs: number,
    isStale: fc.constant(false),
    error: number,
  })
  const rows = fc.record({
    level: fc.constantFrom('shape' as const, 'source' as const, 'backend' as const, 'staleness' as const),
    name: fc.string(),
    at: number,
    sums: fc.array(fc.oneof(fc.constant(Number.NaN), number)).map((sums) => Float64Array.from(sums)),
  })
  fc.assert(
    fc.property(fc.array(fc.oneof(refetches, samples)), fc.array(rows), (events, given) => {
      for (const event of events) learner.observe(event)
      learner.setForeign(given)
      learner.adopt(given)
    }),
  )
  clock.jump(clock.now() + hour)
  assert.ok(learner.own().every(({ sums }) => sums.every(Number.isFinite)))
  assert.ok(learner.policyFor(terms, shape).ttl(hour) >= policy.ttl(-1))
})
