import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs, type RigOptions, sharedStore } from '../../../test/rigs/engine-rig.ts'
import { FakeDatabase } from '../../../test/rigs/fake-database.ts'
import { learned, RememberingLearner } from '../../../test/rigs/learning-rig.ts'
import { RangesRig } from '../../../test/rigs/ranges-rig.ts'
import type { EpochMs } from '../../core/clock.ts'
import { asynchronous } from '../../testing/asynchronous.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { fixed } from '../../ttl/fixed.ts'
import type { Refetch } from '../../ttl/learned/learning.ts'

const ttlMs = minuteMs
const policy = fixed(ttlMs, 600_000)

interface ChangingRig {
  readonly rig: EngineRig
  readonly learner: RememberingLearner
  /** Values by the start of their cell; 1 by default. */
  readonly values: Map<EpochMs, number | undefined>
}

/** Half a minute past midnight; every bucket has a TTL of a minute, and is settled after ten. */
async function newRig(options: RigOptions = {}): Promise<ChangingRig> {
  const clock = options.clock ?? fakeClock()
  const learner = new RememberingLearner(policy)
  const values = new Map<EpochMs, number | undefined>()
  const database = changing(clock, values)
  const rig = new EngineRig({ ...options, clock, learning: learner, database })
  rig.policy = learned(policy)
  await clock.advance(30_000)
  return { rig, learner, values }
}

const changing = (clock: FakeClock, values: ReadonlyMap<EpochMs, number | undefined>): FakeDatabase =>
  new FakeDatabase({
    clock,
    valueAt: (start) => (values.has(start) ? values.get(start) : 1),
  })

/** The ages of a refetch in seconds, and whether the bucket had changed. */
const rowsOf = ({ oldAges, newAges, changed }: Refetch): (readonly [number, number, number])[] =>
  Array.from(changed, (flag, i) => [oldAges[i]! / 1000, newAges[i]! / 1000, flag] as const)

test('a refetch has the age of each bucket at both fetches, and the changed ones', async () => {
  const { rig, learner, values } = await newRig()
  const to = rig.openCell
  await rig.ask(3, to)
  assert.deepEqual(learner.events, [])
  values.set(to - 2 * minuteMs, 2)
  await rig.clock.advance(70_000)
  const { decision } = await rig.ask(3, to)
  const refetches = learner.takeRefetches()
  assert.deepEqual(refetches.map(rowsOf), [
    [
      [150, 220, 0],
      [90, 160, 1],
      [30, 100, 0],
    ],
  ])
  const { at, shape } = refetches[0]!
  assert.deepEqual([at, shape], [rig.clock.now(), { key: decision.key, sources: ['up'] }])
})

test('only buckets that were stored before are observed', async () => {
  const { rig, learner } = await newRig()
  const to = rig.openCell
  await rig.ask(2, to)
  await rig.clock.advance(70_000)
  await rig.ask(5, to)
  assert.deepEqual(learner.takeRefetches().map(rowsOf), [
    [
      [90, 160, 0],
      [30, 100, 0],
    ],
  ])
})

test('data where there was none is a change, and so is data that is gone', async () => {
  const { rig, learner, values } = await newRig()
  const to = rig.openCell
  const [first, second, third] = [3, 2, 1].map((cells) => to - cells * minuteMs)
  values.set(first!, undefined)
  await rig.ask(3, to)
  values.set(first!, 1)
  values.set(second!, undefined)
  values.set(third!, 1)
  await rig.clock.advance(70_000)
  await rig.ask(3, to)
  assert.deepEqual(
    learner.takeRefetches().map((refetch) => [...refetch.changed]),
    [[1, 1, 0]],
  )
})

test('trailing empty buckets that are not settled are not stored, and not observed', async () => {
  const { rig, learner, values } = await newRig()
  const to = rig.openCell
  await rig.ask(3, to)
  values.set(to - minuteMs, undefined)
  await rig.clock.advance(70_000)
  await rig.ask(3, to)
  assert.deepEqual(
    learner.takeRefetches().map((refetch) => refetch.changed.length),
    [2],
  )
})

test('buckets that are refetched because of a mark do not teach', async () => {
  const { rig, learner, values } = await newRig()
  const to = rig.openCell
  await rig.ask(3, to)
  const from = to - 2 * minuteMs
  await rig.clock.advance(1000)
  await rig.marks.add({ kind: 'stale', source: 'up', from, to: from + minuteMs, at: rig.clock.now() })
  for (const cell of [1, 2, 3]) values.set(to - cell * minuteMs, 5)
  await rig.clock.advance(70_000)
  await rig.ask(3, to)
  assert.deepEqual(learner.takeRefetches().map(rowsOf), [
    [
      [150, 221, 1],
      [30, 101, 1],
    ],
  ])
  await rig.clock.advance(70_000)
  await rig.ask(3, to)
  assert.deepEqual(
    learner.takeRefetches().map((refetch) => [...refetch.changed]),
    [[0, 0, 0]],
    'the new copy is not meant by the mark',
  )
})

test('a policy that does not learn reports nothing', async () => {
  const { rig, learner } = await newRig()
  rig.policy = fixed(ttlMs)
  await rig.ask(3)
  await rig.clock.advance(70_000)
  await rig.ask(3)
  assert.deepEqual(learner.events, [])
})

test('several intervals are one refetch, and parts of buckets are not observed', async () => {
  const clock = fakeClock()
  const learner = new RememberingLearner(policy)
  const rig = new RangesRig({ clock, learning: learner, database: changing(clock, new Map()) })
  rig.policy = learned(policy)
  const ranges = [
    [1000, 1002],
    [1100, 1101.5],
  ] as const
  await rig.askRanges(ranges)
  await clock.advance(70_000)
  await rig.askRanges(ranges)
  assert.deepEqual(
    learner.takeRefetches().map((refetch) => refetch.oldAges.length),
    [3],
  )
})

test('a store that answers late, or fails, delays nothing and costs only the observations', async () => {
  const clock = fakeClock()
  let isFailing = false
  const { rig, learner } = await newRig({
    clock,
    wrap: (store) => asynchronous(store, { clock, failures: () => (isFailing ? 1 : 0) }),
  })
  const to = rig.openCell
  await rig.ask(3, to)
  await rig.clock.advance(70_000)
  assert.equal((await rig.ask(3, to)).decision.stored, true)
  await rig.clock.advance(0)
  assert.equal(learner.takeRefetches().length, 1)
  isFailing = true
  await rig.clock.advance(70_000)
  assert.equal((await rig.ask(3, to)).answer.kind, 'forward')
})

test('of two nodes that share a store, the one that fetched observes', async () => {
  const clock = fakeClock()
  const far = sharedStore(clock)
  // Probes would be refetches of their own.
  const probes = { sampleEveryMs: Number.MAX_SAFE_INTEGER, sentinelEveryMs: Number.MAX_SAFE_INTEGER }
  const one = await newRig({ clock, far: asynchronous(far, { clock }), probes })
  const other = await newRig({ clock, far: asynchronous(far, { clock }), probes, database: one.rig.database })
  const to = one.rig.openCell
  for (let i = 0; i < 3; i++) {
    await Promise.all([one.rig.ask(3, to), other.rig.ask(3, to), clock.advance(5000)])
    await clock.advance(70_000)
  }
  const told = [...one.learner.takeRefetches(), ...other.learner.takeRefetches()]
  assert.equal(told.length, 2)
})
