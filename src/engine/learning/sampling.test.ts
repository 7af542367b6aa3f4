/** Buckets of recently requested shapes are fetched twice, a given time apart. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { EngineRig, minuteMs } from '../../../test/rigs/engine-rig.ts'
import { FakeDatabase } from '../../../test/rigs/fake-database.ts'
import { learned, RememberingLearner } from '../../../test/rigs/learning-rig.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { fixed } from '../../ttl/fixed.ts'

const policy = fixed(24 * 60 * minuteMs, 600_000)

function newRig() {
  const clock = fakeClock()
  const learner = new RememberingLearner(policy)
  const truth = { value: 1 }
  const database = new FakeDatabase({ clock, valueAt: () => truth.value })
  const rig = new EngineRig({ clock, learning: learner, database })
  rig.policy = learned(policy)
  return { rig, clock, learner, truth, database }
}

test('changes between the two fetches are observed, over the gap', async () => {
  const { rig, clock, learner, truth, database } = newRig()
  await rig.ask(120, rig.openCell)
  await clock.advance(5000)
  const asked = database.asked.length
  const sampling = rig.sampling.run({ gapMs: 60_000, samples: 25 })
  await clock.advance(1000)
  assert.ok(database.asked.length - asked >= 3, 'at most ten buckets in a query')
  const first = learner.takeRefetches()
  truth.value = 2
  await clock.advance(60_000)
  const second = learner.takeRefetches()
  const bucketsIn = (refetches: typeof first) =>
    refetches.reduce((sum, { changed }) => sum + changed.length, 0)
  assert.deepEqual([first, second].map(bucketsIn), [25, 25])
  assert.ok(first.every(({ changed }) => !changed.includes(1)))
  for (const { oldAges, newAges, changed } of second) {
    assert.ok(changed.every((flag, i) => flag === 1 && newAges[i]! - oldAges[i]! === 60_000))
  }
  assert.deepEqual(await sampling, { observations: 50, changed: 25, shapes: 1 })
})

test('one at a time, and only of shapes that learn and were requested within ten minutes', async () => {
  const { rig, clock } = newRig()
  assert.equal(await rig.sampling.run({ gapMs: 1000, samples: 1 }), 'idle')
  rig.policy = policy
  await rig.ask(10, rig.openCell)
  assert.equal(await rig.sampling.run({ gapMs: 1000, samples: 1 }), 'idle')
  rig.policy = learned(policy)
  await rig.ask(20, rig.openCell)
  const first = rig.sampling.run({ gapMs: 1000, samples: 1 })
  assert.equal(await rig.sampling.run({ gapMs: 1000, samples: 1 }), 'busy')
  await clock.advance(1001)
  assert.equal(typeof (await first), 'object')
  await clock.advance(11 * minuteMs)
  assert.equal(await rig.sampling.run({ gapMs: 1000, samples: 1 }), 'idle')
})

test('requests are forgotten after ten minutes, also where no other one comes', async () => {
  const { rig, clock } = newRig()
  await rig.ask(10, rig.openCell)
  await clock.advance(0)
  const pending = clock.pending
  const [first, ...others] = rig.sampling.keys
  assert.deepEqual([typeof first, others.length], ['string', 0])
  await clock.advance(4 * minuteMs)
  await rig.ask(10, rig.openCell, { identity: 'another' })
  const [, second] = rig.sampling.keys
  await clock.advance(6 * minuteMs - 1)
  assert.deepEqual(rig.sampling.keys, [first, second])
  await clock.advance(1)
  assert.deepEqual(rig.sampling.keys, [second])
  await clock.advance(4 * minuteMs)
  assert.deepEqual(rig.sampling.keys, [])
  assert.equal(clock.pending, pending - 1)
})

test('only of the shapes that are named', async () => {
  const { rig, clock } = newRig()
  await rig.ask(10, rig.openCell)
  await rig.ask(10, rig.openCell, { identity: 'another' })
  const [key] = rig.sampling.keys
  assert.equal(await rig.sampling.run({ gapMs: 1000, samples: 40, keys: ['unknown'] }), 'idle')
  const sampling = rig.sampling.run({ gapMs: 1000, samples: 40, keys: ['unknown', key!] })
  await clock.advance(2000)
  const sampled = await sampling
  assert.equal(typeof sampled === 'object' && sampled.shapes, 1)
})
