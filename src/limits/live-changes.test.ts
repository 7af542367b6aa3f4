/** Changes of stored limits reach buckets that are in use, at every level, here and in other processes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedStore } from '../../test/rigs/engine-rig.ts'
import type { Cells } from '../stores/cells.ts'
import { memoryCells } from '../stores/memory/cells.ts'
import { asynchronous } from '../testing/asynchronous.ts'
import { type FakeClock, fakeClock } from '../testing/fake-clock.ts'
import type { Limit } from './limit.ts'
import { limiter } from './limiter.ts'
import { type BaseLimits, LimitRegistry } from './registry.ts'
import type { LimitTarget } from './registry-rows.ts'

const ann = { by: 'ann' }
const perMinute = (capacity: number, name = 'requests'): Limit => ({
  ...{ name, capacity, refillAmount: capacity, refillPeriodSeconds: 60 },
})

/** A process: its own registry and limiter over common rows. */
function processOn(cells: Cells, clock: FakeClock, base: BaseLimits = { system: [perMinute(10)] }) {
  const registry = new LimitRegistry(cells, { clock, base: () => base })
  const counted = limiter(cells, { clock, resolver: registry, onUnavailable: 'block' })
  const take = async (requests: number, entity = 'a') =>
    (await counted.acquire({ entity, resource: 'main', consume: { requests } })).ok
  const left = async (entity = 'a') => {
    const status = await counted.status(entity, 'main')
    return [status!.source, ...status!.limits.map(({ available }) => available)]
  }
  const ttl = async () => {
    const status = await counted.status('a', 'main')
    return status!.ttl === 'none' ? 'none' : (status!.ttl - clock.now()) / 1000
  }
  return { registry, counted, take, left, ttl }
}

const levels: readonly (readonly [string, LimitTarget])[] = [
  ['system', {}],
  ['resource', { resource: 'main' }],
  ['entity_default', { entity: 'a' }],
  ['entity', { entity: 'a', resource: 'main' }],
]

const engines: readonly (readonly [string, (clock: FakeClock) => Cells])[] = [
  ['memory', (clock) => memoryCells({ clock })],
  ['asynchronous', (clock) => asynchronous(sharedStore(clock), { clock }).cells!],
]

for (const [engine, cellsOf] of engines) {
  for (const [level, target] of levels) {
    test(`${engine}: a change of the ${level} limits rescales a live bucket, and its removal too`, async () => {
      const clock = fakeClock()
      const { registry, take, left } = processOn(cellsOf(clock), clock)
      assert.ok(await take(10))
      assert.deepEqual([await take(1), await left()], [false, ['system', 0]])
      assert.ok((await registry.change({ ...target, limits: [perMinute(600)] }, ann)).ok)
      // An empty bucket stays empty, and fills at the new rate from the next request on.
      assert.deepEqual([await take(1), await left()], [false, [level, 0]])
      await clock.advance(2000)
      assert.deepEqual(await left(), [level, 20])
      await clock.advance(60_000)
      assert.deepEqual([await take(500), await left()], [true, [level, 100]])
      await registry.change({ ...target, limits: null }, ann)
      assert.deepEqual(await left(), ['system', 10])
      assert.deepEqual([await take(11), await take(10)], [false, true])
    })

    test(`${engine}: another process sees a change of the ${level} limits within the TTL`, async () => {
      const clock = fakeClock()
      const cells = cellsOf(clock)
      const [here, there] = [processOn(cells, clock), processOn(cells, clock)]
      assert.ok(await there.take(1))
      await here.registry.change({ ...target, limits: [perMinute(1)] }, ann)
      assert.deepEqual(await here.left(), [level, 1])
      await clock.advance(60_000)
      assert.deepEqual(await there.left(), [level, 1])
      assert.deepEqual([await there.take(2), await there.take(1)], [false, true])
    })
  }

  test(`${engine}: a limit that is added to a live bucket starts at its capacity`, async () => {
    const clock = fakeClock()
    const { registry, counted, take, left } = processOn(cellsOf(clock), clock)
    assert.ok(await take(4))
    await registry.change({ limits: [perMinute(10), perMinute(50, 'cost')] }, ann)
    assert.deepEqual(await left(), ['system', 6, 50])
    const request = { entity: 'a', resource: 'main', consume: { requests: 1, cost: 50 } }
    assert.ok((await counted.acquire(request)).ok)
    assert.deepEqual(await left(), ['system', 5, 0])
  })

  test(`${engine}: limits of an entity at a resource remove the TTL of its row, and deleting them sets it`, async () => {
    const clock = fakeClock()
    const { registry, take, ttl } = processOn(cellsOf(clock), clock)
    assert.ok(await take(1))
    assert.equal(await ttl(), 420)
    const target = { entity: 'a', resource: 'main' }
    await registry.change({ ...target, limits: [perMinute(10)] }, ann)
    assert.equal(await ttl(), 'none')
    assert.ok(await take(1))
    assert.equal(await ttl(), 'none')
    await registry.change({ ...target, limits: null }, ann)
    assert.equal(await ttl(), 420)
    assert.ok(await take(1))
    assert.equal(await ttl(), 420)
  })

  test(`${engine}: a parent that is set after the first request is taken from the next one on`, async () => {
    const clock = fakeClock()
    const { registry, take, left } = processOn(cellsOf(clock), clock)
    assert.ok(await take(1))
    await registry.change({ entity: 'company', limits: [perMinute(3)] }, ann)
    await registry.change({ entity: 'a', parent: 'company' }, ann)
    assert.deepEqual([await take(3), await left('company')], [true, ['entity_default', 0]])
    assert.deepEqual([await take(1), await left()], [false, ['system', 6]])
    await registry.change({ entity: 'a', parent: null }, ann)
    assert.ok(await take(6))
  })
}

test('while the store fails, known limits stay known, and unknown ones are the limiter’s to decide', async () => {
  const clock = fakeClock()
  let isDown = false
  const cells = asynchronous(sharedStore(clock), { clock, isCut: () => isDown }).cells!
  const { registry, counted, take } = processOn(cells, clock)
  assert.ok(await take(1))
  isDown = true
  await clock.advance(600_000)
  assert.equal((await registry.resolve('a', 'main'))!.source, 'system')
  const request = { resource: 'main', consume: { requests: 1 } }
  for (const entity of ['a', 'unknown']) {
    const refusal = await counted.acquire({ ...request, entity })
    assert.ok(!refusal.ok && refusal.cause === 'unavailable')
  }
  isDown = false
  await clock.advance(1000)
  assert.ok(await take(1, 'unknown'))
})
