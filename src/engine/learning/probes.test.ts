import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs, type RigOptions, sharedStore } from '../../../test/rigs/engine-rig.ts'
import { FakeDatabase } from '../../../test/rigs/fake-database.ts'
import { learned, RememberingLearner } from '../../../test/rigs/learning-rig.ts'
import type { EpochMs } from '../../core/clock.ts'
import { asynchronous } from '../../testing/asynchronous.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/random.ts'
import { steps } from '../../ttl/steps.ts'

const hourMs = 60 * minuteMs
const probes = { sampleEveryMs: 30_000, sentinelEveryMs: Number.MAX_SAFE_INTEGER }
const sentinels = { sampleEveryMs: Number.MAX_SAFE_INTEGER, sentinelEveryMs: 120_000 }

interface ProbedRig {
  readonly rig: EngineRig
  readonly learner: RememberingLearner
  /** The factor that the value of a cell is multiplied by, from the start of the cell. */
  factor: (start: EpochMs) => number
}

/** Buckets younger than 10 minutes live for 5 s, others for a day. */
const policy = steps({ floorMs: 5000, steps: [{ ageMs: 10 * minuteMs, ttlMs: 24 * hourMs }] })

function newRig({ isShared = false, ...options }: RigOptions & { isShared?: boolean } = {}): ProbedRig {
  const random = seededRandom(7)
  const clock = { ...fakeClock(), random }
  const learner = new RememberingLearner(policy)
  const probed = { factor: (_start: EpochMs) => 1 }
  const valueAt = (start: EpochMs) => 100 * probed.factor(start)
  const database = new FakeDatabase({ clock, valueAt })
  const far = isShared ? { far: asynchronous(sharedStore(clock), { clock }) } : {}
  const rig = new EngineRig({ clock, database, learning: learner, refreshesAhead: false, ...far, ...options })
  rig.policy = learned(policy)
  return Object.assign(probed, { rig, learner })
}

/** One viewer of the last `cells` minutes, every ten seconds. */
async function watch(rig: EngineRig, cells: number, forMs: number): Promise<void> {
  for (let ms = 0; ms < forMs; ms += 10_000) {
    await rig.ask(cells)
    await rig.clock.advance(10_000)
  }
}

test('single served buckets are fetched again, of all age groups in turn', async () => {
  const { rig, learner } = newRig({ probes })
  await watch(rig, 1440, 5 * hourMs)
  const { samples } = learner
  // Every 30 s and, on average, one and a half looks of a viewer.
  assert.ok(samples.length > 350 && samples.length < 450, String(samples.length))
  const borders = [2, 10, 60, 360, 1440].map((minutes) => minutes * minuteMs)
  const counts = [0, 0, 0, 0, 0, 0]
  for (const { ageMs } of samples) counts[borders.filter((border) => ageMs >= border).length]!++
  assert.equal(counts[5], 0)
  for (const count of counts.slice(0, 5)) assert.ok(Math.abs(count - samples.length / 5) <= 1)
  assert.ok(samples.every(({ isStale, error }) => !isStale && error === 0))
  const single = rig.database.asked.filter(({ cells }) => cells === 1).length
  assert.ok(single < samples.length, 'buckets that the answer itself had fetched are not fetched again')
})

test('buckets are drawn uniformly within their group', async () => {
  const { rig, learner } = newRig({ probes })
  await watch(rig, 60, 15 * hourMs)
  const bins = new Float64Array(10)
  const old = learner.samples.filter(({ ageMs }) => ageMs >= 10 * minuteMs)
  for (const { ageMs } of old) bins[Math.floor((ageMs - 10 * minuteMs) / (5 * minuteMs))]!++
  const expected = old.length / bins.length
  const chi = bins.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
  // 9 degrees of freedom: 21.7 is exceeded by one draw in a hundred; the dice are fixed.
  assert.ok(old.length > 250 && chi < 21.7, `${old.length} ${chi}`)
})

test('a sample shows that a bucket was out of date, and how far', async () => {
  const probed = newRig({ probes })
  const { rig, learner } = probed
  await rig.ask(60)
  probed.factor = () => 2
  await watch(rig, 60, 5 * minuteMs)
  const stale = learner.samples.filter(({ isStale }) => isStale)
  assert.ok(stale.length > 0)
  assert.ok(stale.every(({ error, ageMs }) => error === 0.5 && ageMs >= 10 * minuteMs))
  assert.equal(rig.background.sample.changed, stale.length)
})

test('a probe is sent after the answer, with the headers of the request, and changes no answer', async () => {
  const { rig } = newRig({ probes: { ...probes, sampleEveryMs: 1 } })
  rig.database.lagMs = 2000
  const sent: string[][] = []
  const send = rig.database.send.bind(rig.database)
  rig.database.send = (request, ...rest) => {
    sent.push([...request.headers])
    return send(request, ...rest)
  }
  const plan = rig.plan(rig.openCell - 90 * minuteMs, rig.openCell - 30 * minuteMs)
  const asked = { ...plan, request: { ...plan.request, headers: ['Authorization', 'mine'] } }
  const first = rig.serve(asked)
  await rig.clock.advance(3000)
  await first
  for (let i = 0; i < 5; i++) {
    const { decision, text } = await rig.serve(asked)
    assert.equal(decision.outcome, 'hit')
    assert.equal(
      text,
      rig.database.truth(rig.openCell - 90 * minuteMs, rig.openCell - 30 * minuteMs, minuteMs),
    )
    await rig.clock.advance(3000)
  }
  assert.ok(sent.length >= 2)
  assert.deepEqual(new Set(sent.map(String)), new Set(['Authorization,mine']))
})

test('a thousand shapes are not probed more often than one', async () => {
  const { rig, learner } = newRig({ probes: { sampleEveryMs: 30_000, sentinelEveryMs: 120_000 } })
  const to = rig.openCell - hourMs
  const ask = (q: number) =>
    rig.serve(rig.planOf(`q=m${q}&from=${to - 20 * minuteMs}&to=${to}&step=${minuteMs}`))
  for (let q = 0; q < 1000; q++) await ask(q)
  rig.database.asked.splice(0)
  for (let ms = 0; ms < hourMs; ms += 5000) {
    for (let q = 0; q < 50; q++) await ask((ms / 100 + q) % 1000)
    await rig.clock.advance(5000)
  }
  assert.ok(learner.samples.length > 70 && learner.samples.length < 150, String(learner.samples.length))
  const { same, changed, failed } = rig.background.sentinel
  assert.ok(same > 15 && same < 45, String(same))
  assert.equal(changed + failed, 0)
  assert.equal(rig.database.asked.length, learner.samples.length + same)
})

test('a correction of many settled buckets is seen within minutes, and does not teach', async () => {
  const probed = newRig({ probes: sentinels })
  const { rig, learner } = probed
  await watch(rig, 180, 20 * minuteMs)
  learner.takeRefetches()
  probed.factor = () => 3
  await watch(rig, 180, 8 * minuteMs)
  assert.equal((await rig.ask(180)).text, rig.truth(180))
  assert.equal(rig.marks.list().length, 1)
  const { kind, backend, source } = rig.marks.list()[0]!
  assert.deepEqual({ kind, backend, source }, { kind: 'stale', backend: 'cells', source: 'up' })
  const old = learner
    .takeRefetches()
    .flatMap(({ changed, oldAges }) =>
      [...changed].filter((flag, i) => flag === 1 && oldAges[i]! > 12 * minuteMs),
    )
  assert.deepEqual(old, [])
})

test('a correction is found where other nodes share the store', async () => {
  const probed = newRig({ probes: sentinels, isShared: true })
  const { rig } = probed
  await watch(rig, 180, 20 * minuteMs)
  probed.factor = () => 3
  await watch(rig, 180, 8 * minuteMs)
  assert.equal(rig.marks.list().length, 1)
})

test('data that goes on changing after it was marked is learned', async () => {
  const probed = newRig({ probes: sentinels })
  const { rig, learner } = probed
  await watch(rig, 180, minuteMs)
  probed.factor = () => rig.clock.now() % 1_000_003
  await watch(rig, 180, 30 * minuteMs)
  const old = learner
    .takeRefetches()
    .filter(({ oldAges, changed }) => oldAges.length === 4 && changed.includes(1))
  assert.ok(rig.marks.list().length <= 3)
  assert.ok(old.length > 0)
})

test('a database that fails costs the probes, and nothing else', async () => {
  const { rig, learner } = newRig({ probes: { sampleEveryMs: 5000, sentinelEveryMs: 20_000 } })
  const to = rig.openCell - hourMs
  await rig.ask(60, to)
  rig.database.failure = { status: 500, body: 'no' }
  for (let i = 0; i < 60; i++) {
    assert.equal((await rig.ask(60, to)).decision.outcome, 'hit')
    await rig.clock.advance(10_000)
  }
  const { sample, sentinel } = rig.background
  assert.ok(sample.failed > 20 && sentinel.failed > 5)
  assert.deepEqual(learner.events, [])
})
