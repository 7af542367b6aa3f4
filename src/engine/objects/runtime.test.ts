/** The vectors of the reference for a whole cache, and its behaviour while its store fails. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedRows } from '../../../test/rigs/memory-engines.ts'
import { Budget } from '../../core/budget.ts'
import { pause } from '../../core/clock.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import { asynchronous } from '../../testing/asynchronous.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { countedRender, eventually, minute, shown, until } from '../../testing/object-rig.ts'
import { keyOfUrl } from './http-key.ts'
import { type ObjectCacheOptions, objectCache } from './object-cache.ts'
import { nameOf } from './object-names.ts'

const second = { revalidateSeconds: 1, staleIfErrorSeconds: 60 }

/** Nodes on one store, each with its own connection that can be cut. */
function cuttable(start: number) {
  const clock = fakeClock(start)
  const storeFor = sharedRows(86_400_000)
  const node = (options: ObjectCacheOptions = {}) => {
    const link = { isCut: false }
    const store = asynchronous(storeFor(clock), { clock, isCut: () => link.isCut })
    return { link, cache: objectCache(store, { clock, ...options }) }
  }
  return { clock, node }
}

test('generated at 1,000 ms with 1 s, it is stale at 2,000: 8 readers, one render, all get v2', async () => {
  const clock = fakeClock(1000)
  const cells = memoryCells({ clock })
  const cache = objectCache(cells, { clock })
  const render = countedRender()
  await cache.get('k', render, second)
  clock.jump(2000)
  const answers = await Promise.all(Array.from({ length: 8 }, () => cache.get('k', render, second)))
  assert.deepEqual(answers.map(shown), ['miss v2', ...Array(7).fill('wait-hit v2')])
  assert.equal(render.calls, 2)
})

test('a failure at 11,000 serves v1 and leaves the pointer; at 11,001 it recovers', async () => {
  const clock = fakeClock(1000)
  const cells = memoryCells({ clock })
  const cache = objectCache(cells, { clock })
  const render = countedRender()
  await cache.get('k', render, second)
  const meta = { pk: nameOf('k').pk, sk: 'META' }
  const before = cells.get(meta, 1)
  clock.jump(11_000)
  render.gives = () => ({ status: 503, body: Buffer.from('busy') })
  assert.equal(shown(await cache.get('k', render, second)), 'stale v1')
  assert.deepEqual(cells.get(meta, 1), before)
  clock.jump(11_001)
  render.gives = () => 'v3'
  assert.equal(shown(await cache.get('k', render, second)), 'miss v3')
  assert.equal(render.calls, 3)
})

test('lease 20 ms, render 80 ms, wait 40 ms: the second renderer wins, the slow one cannot overwrite', async () => {
  const { clock, node } = cuttable(1_000_000)
  const options = { leaseSeconds: 0.02, waitSeconds: 0.04 }
  const [slow, other] = [node(options), node(options)]
  const render = countedRender(() => pause(clock, 80).then(() => 'slow'))
  const first = slow.cache.get('k', render, minute)
  await until(clock, () => render.calls === 1)
  slow.link.isCut = true
  assert.equal(
    shown(
      await eventually(
        clock,
        other.cache.get('k', async () => 'newer', minute),
      ),
    ),
    'miss newer',
  )
  slow.link.isCut = false
  assert.equal(shown(await eventually(clock, first)), 'miss slow')
  assert.equal(
    shown(
      await eventually(
        clock,
        node().cache.get('k', async () => 'x', minute),
      ),
    ),
    'hit newer',
  )
})

test('query parameters in another order have the same key, and other values another', () => {
  assert.equal(keyOfUrl('/a?y=2&x=1&x=0'), keyOfUrl('http://h/a?x=1&y=2&x=0'))
  assert.notEqual(keyOfUrl('/a?x=1&x=0'), keyOfUrl('/a?x=0&x=1'))
})

test('129 keys are warm, then everything fails: the oldest is gone, the newest is served stale', async () => {
  const { clock, node } = cuttable(1_000_000)
  const { link, cache } = node({ maxObjects: 128 })
  const render = countedRender()
  for (let i = 0; i < 129; i++) await eventually(clock, cache.get(`k${i}`, render, second))
  await clock.advance(2000)
  link.isCut = true
  render.gives = () => Promise.reject(new Error('down'))
  await assert.rejects(async () => eventually(clock, cache.get('k0', render, second)), /down/)
  const stale = await eventually(clock, cache.get('k128', render, second))
  assert.equal(shown(stale), 'stale v129')
  assert.ok(stale.failure instanceof Error)
})

test('an outage of the store before the first render: a render still answers, and its failure is an error', async () => {
  const { clock, node } = cuttable(1_000_000)
  const { link, cache } = node()
  link.isCut = true
  const failing = () => Promise.reject(new Error('down'))
  await assert.rejects(async () => eventually(clock, cache.get('k', failing, minute)), /down/)
  const render = countedRender(() => pause(clock, 10).then(() => 'v1'))
  const readers = Array.from({ length: 8 }, () => cache.get('k', render, minute))
  const answers = await eventually(clock, Promise.all(readers))
  assert.deepEqual(answers.map(shown), ['miss v1', ...Array(7).fill('wait-hit v1')])
  assert.equal(render.calls, 1)
  assert.equal(shown(await cache.get('k', render, minute)), 'hit v1')
})

test('a store that fails during the render does not break it', async () => {
  const { clock, node } = cuttable(1_000_000)
  const { link, cache } = node()
  const render = countedRender(() => pause(clock, 10).then(() => 'v1'))
  const pending = cache.get('k', render, minute)
  await until(clock, () => render.calls === 1)
  link.isCut = true
  assert.equal(shown(await eventually(clock, pending)), 'miss v1')
})

test('an invalidation that cannot be stored rejects, holds here, and reaches others when the store is back', async () => {
  const { clock, node } = cuttable(1_000_000)
  const [a, b] = [node(), node()]
  const render = countedRender()
  const long = { revalidateSeconds: 3600, staleIfErrorSeconds: 3600 }
  for (const { cache } of [a, b]) await eventually(clock, cache.get('k', render, long))
  a.link.isCut = true
  await assert.rejects(async () => eventually(clock, a.cache.invalidate('k')))
  render.gives = () => Promise.reject(new Error('down'))
  assert.equal(shown(await eventually(clock, a.cache.get('k', render, long))), 'stale v1')
  a.link.isCut = false
  await clock.advance(60_000)
  await eventually(clock, a.cache.get('k', render, long))
  await clock.advance(5000)
  assert.equal(shown(await eventually(clock, b.cache.get('k', render, long))), 'stale v1')
})

test('without cells every object is in this process: invalidations work, and there is nothing to roll back', async () => {
  const clock = fakeClock()
  const cache = objectCache({}, { clock })
  const render = countedRender()
  assert.equal(shown(await cache.get('k', render, minute)), 'miss v1')
  assert.equal(shown(await cache.get('k', render, minute)), 'hit v1')
  await cache.invalidate('k')
  assert.equal(shown(await cache.get('k', render, minute)), 'miss v2')
  assert.equal(shown(await cache.get('k', render, minute)), 'hit v2')
  await cache.invalidate('k')
  render.gives = () => Promise.reject(new Error('down'))
  assert.equal(shown(await cache.get('k', render, minute)), 'stale v2')
  assert.equal(await cache.rollback('k'), false)
})

test('with a TTL of 0 s concurrent requests share one render, and the store is not read', async () => {
  const clock = fakeClock()
  const cells = memoryCells({ clock })
  const cache = objectCache(cells, { clock })
  const render = countedRender((call) => pause(clock, 10).then(() => `v${call}`))
  const readers = Array.from({ length: 3 }, () => cache.get('k', render, { revalidateSeconds: 0 }))
  assert.equal(
    (await eventually(clock, Promise.all(readers))).map(shown).join(),
    'miss v1,wait-hit v1,wait-hit v1',
  )
  assert.equal(shown(await eventually(clock, cache.get('k', render, { revalidateSeconds: 0 }))), 'miss v2')
  assert.deepEqual(cells.list(nameOf('k').pk, 1), [])
})

test('a response that may not be shared is rendered by every waiter', async () => {
  const clock = fakeClock()
  const cache = objectCache(memoryCells({ clock }), { clock })
  const render = countedRender(async (call) => {
    await pause(clock, 10)
    return { body: Buffer.from(`v${call}`), isStorable: false }
  })
  const readers = Array.from({ length: 3 }, () => cache.get('k', render, minute))
  const answers = await eventually(clock, Promise.all(readers))
  assert.deepEqual(new Set(answers.map(shown)), new Set(['miss v1', 'miss v2', 'miss v3']))
})

test('memory is taken from the budget, and given back where others need it', async () => {
  const clock = fakeClock()
  const budget = new Budget(100_000)
  const cache = objectCache({}, { clock, budget, maxBytes: 50_000 })
  const body = new Uint8Array(20_000)
  for (const key of ['a', 'b', 'c']) await cache.get(key, async () => body, minute)
  assert.ok(budget.used > 40_000 && budget.used <= 50_000, String(budget.used))
  assert.ok(budget.reserve(90_000))
  assert.equal(budget.used, 90_000)
  assert.equal((await cache.get('c', async () => body, minute)).state, 'miss')
  assert.equal(budget.used, 90_000)
})
