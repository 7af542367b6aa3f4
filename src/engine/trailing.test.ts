/** Empty buckets at the end of an answer are cached for the floor, whatever their age: their data may only be late. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs, type RigOptions, sharedStore } from '../../test/rigs/engine-rig.ts'
import { unsteadyPolicy } from '../../test/rigs/plateau-policy.ts'
import { asynchronous } from '../testing/asynchronous.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { fixed } from '../ttl/fixed.ts'
import { ladder } from '../ttl/ladder.ts'

/** Half a minute past midnight; no data from `since` minutes before the open cell on. */
async function quietRig(since: number, options: RigOptions = {}): Promise<EngineRig & { data: Data }> {
  const data: Data = { until: Number.POSITIVE_INFINITY }
  const valueAt = (start: number) => (start < data.until ? 1 : undefined)
  const rig = Object.assign(new EngineRig({ valueAt, ...options }), { data })
  await rig.clock.advance(30_000)
  data.until = rig.openCell - since * minuteMs
  return rig
}

interface Data {
  until: number
}

const askedCells = (rig: EngineRig): number[] => rig.database.asked.splice(0).map((query) => query.cells)

test('they are a hit for the floor, then they are asked for again, and late data shows', async () => {
  const rig = await quietRig(7)
  await rig.ask(60)
  await rig.clock.advance(4_900)
  const again = await rig.ask(60)
  assert.deepEqual([again.decision.outcome, again.decision.ttlSeconds], ['hit', 1])
  assert.equal(again.text, rig.truth(60))
  rig.data.until = Number.POSITIVE_INFINITY
  await rig.clock.advance(200)
  const late = await rig.ask(60)
  assert.equal(late.text, rig.truth(60))
  assert.deepEqual(askedCells(rig), [60, 8])
})

test('whatever its age, an unsettled one has the floor; interior and settled ones have their TTL', async () => {
  const rig = await quietRig(20)
  await rig.ask(60)
  await rig.clock.advance(5_000)
  await rig.ask(60)
  // Twelve are not settled.
  assert.deepEqual(askedCells(rig), [60, 12])
  const { runs } = await rig.explain(60)
  assert.deepEqual(
    runs!.map(({ buckets, state, settled, ttlLeftMs }) => [buckets, state, settled, ttlLeftMs!.max <= 5000]),
    [
      [48, 'fresh', true, false],
      [12, 'fresh', false, true],
    ],
  )
})

test('the floor is that of the policy in force', async () => {
  const rig = await quietRig(7)
  await rig.ask(60)
  rig.policy = ladder({ floorMs: 60_000, doublingMs: 60_000, capMs: 3_600_000 })
  await rig.clock.advance(50_000)
  assert.equal((await rig.ask(60)).decision.outcome, 'partial', 'the cell that has begun since is missing')
  assert.deepEqual(askedCells(rig), [60, 1])
  rig.policy = fixed(1000)
  await rig.clock.advance(1000)
  await rig.ask(60)
  assert.deepEqual(askedCells(rig), [60])
})

test('they have the floor under policies whose TTLs go up and down, too', async () => {
  const rig = await quietRig(7)
  rig.policy = unsteadyPolicy()
  await rig.ask(60)
  assert.equal((await rig.ask(60)).decision.outcome, 'hit')
  await rig.clock.advance(rig.policy.ttl(-1))
  const { gap } = await rig.explain(60)
  assert.ok(gap!.buckets >= 8, `${gap!.buckets}`)
})

test('a database’s own limit is kept where it is the shorter one', async () => {
  for (const [maxAge, floorMs, freshMs] of [
    [2, 5000, 2000],
    [60, 5000, 5000],
  ] as const) {
    const rig = await quietRig(7)
    rig.policy = ladder({ floorMs, doublingMs: 60_000, capMs: 3_600_000 })
    rig.database.headers = ['Content-Type', 'application/json', 'Cache-Control', `max-age=${maxAge}`]
    await rig.ask(8)
    await rig.clock.advance(freshMs - 1)
    assert.equal((await rig.ask(8)).decision.outcome, 'hit')
    await rig.clock.advance(1)
    assert.equal((await rig.ask(8)).decision.outcome, 'miss')
  }
})

test('a waiter accepts them from a database that is slower than the floor', async () => {
  const rig = await quietRig(7)
  rig.database.lagMs = 8_000
  const [first, second] = [rig.ask(60), rig.ask(60)]
  await rig.clock.advance(9_000)
  assert.equal((await first).text, (await second).text)
  assert.deepEqual(askedCells(rig), [60])
})

test('another node finds them in the far tier, and waits for a fetch of them', async () => {
  const clock = fakeClock()
  const shared = sharedStore(clock)
  const options = (): RigOptions => ({
    clock,
    far: asynchronous(shared, { clock }),
    valueAt: () => undefined,
  })
  const [one, other] = [new EngineRig(options()), new EngineRig(options())]
  await clock.advance(30_000)
  // A shape goes to the far tier from its second sighting on.
  await one.ask(60)
  await clock.advance(6000)
  await one.ask(60)
  await clock.advance(1000)
  const found = await other.ask(60)
  assert.equal(found.decision.outcome, 'hit')
  // One node is slower than the floor; the other waits for it and accepts its buckets.
  await clock.advance(5_000)
  one.database.lagMs = 8_000
  other.database.lagMs = 8_000
  const both = [one.ask(60), other.ask(60)]
  for (let second = 0; second < 20; second++) await clock.advance(1000)
  await Promise.all(both)
  assert.deepEqual([...askedCells(one), ...askedCells(other)], [60, 12, 12])
})

test('in an outage they serve as long as others do', async () => {
  const rig = await quietRig(7, { maxStaleMs: 600_000 })
  await rig.ask(60)
  rig.database.failure = { reason: 'database_unreachable', detail: 'down' }
  await rig.clock.advance(20_000)
  const served = await rig.ask(60)
  assert.deepEqual([served.decision.outcome, served.decision.missing], ['stale', undefined])
  assert.deepEqual(JSON.parse(served.text).rows, JSON.parse(rig.truth(60)).rows)
})

test('shadow mode takes late data for late data', async () => {
  const rig = await quietRig(7)
  await rig.shadow(60)
  rig.data.until = Number.POSITIVE_INFINITY
  await rig.clock.advance(1000)
  await rig.shadow(60)
  const { explained, unexplained } = rig.shadowLog.report('cells')
  assert.deepEqual([explained, unexplained], [1, 0])
})

/** Thirty viewers of one panel, each with its own refresh of 10 s, for ten minutes. */
async function queriesOf(trailingEmpty: 'floor' | 'off'): Promise<{ queries: number; buckets: number }> {
  const rig = new EngineRig({ trailingEmpty, valueAt: () => undefined })
  await rig.clock.advance(30_000)
  await rig.ask(60)
  askedCells(rig)
  for (let second = 0; second < 600; second++) {
    for (let viewer = second % 10; viewer < 30; viewer += 10) await rig.ask(60)
    await rig.clock.advance(1000)
  }
  const asked = askedCells(rig)
  return { queries: asked.length, buckets: asked.reduce((sum, cells) => sum + cells, 0) }
}

test('thirty viewers of a panel without data cause a query per floor, not one each', async (t) => {
  const [floor, off] = [await queriesOf('floor'), await queriesOf('off')]
  t.diagnostic(`a request each: ${off.queries} queries for ${off.buckets} buckets`)
  t.diagnostic(`cached for the floor: ${floor.queries} queries for ${floor.buckets} buckets`)
  assert.equal(off.queries, 1800)
  assert.ok(floor.queries <= 121, `${floor.queries}`)
})
