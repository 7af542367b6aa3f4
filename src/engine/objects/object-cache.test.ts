/** The table of clock positions: which objects are served, which are regenerated, and when. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pause } from '../../core/clock.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import { fakeClock, skewed } from '../../testing/fake-clock.ts'
import { countedRender, eventually, minute, shown } from '../../testing/object-rig.ts'
import { objectCache } from './object-cache.ts'
import { nameOf } from './object-names.ts'

const start = 1_000_000

function rig() {
  const clock = fakeClock(start)
  const cells = memoryCells({ clock })
  return { clock, cells, cache: objectCache(cells, { clock }) }
}

test('fresh until the last millisecond, and served without a promise', async () => {
  const { clock, cache } = rig()
  const render = countedRender()
  assert.equal(shown(await cache.get('k', render, minute)), 'miss v1')
  const again = cache.get('k', render, minute)
  assert.ok(!(again instanceof Promise))
  assert.equal(shown(again), 'hit v1')
  clock.jump(1_059_999)
  assert.equal(shown(await cache.get('k', render, minute)), 'hit v1')
  assert.equal(render.calls, 1)
})

test('stale while revalidate: served at once, regenerated once in the background', async () => {
  const { clock, cache } = rig()
  const render = countedRender()
  await cache.get('k', render, minute)
  clock.jump(1_060_000)
  render.gives = async () => {
    await pause(clock, 100)
    return 'v2'
  }
  const answers = await Promise.all(Array.from({ length: 8 }, () => cache.get('k', render, minute)))
  assert.deepEqual(new Set(answers.map(shown)), new Set(['stale v1']))
  await clock.advance(100)
  assert.equal(shown(await cache.get('k', render, minute)), 'hit v2')
  assert.equal(render.calls, 2)
})

test('beyond that it is regenerated while the request waits, and stale only where that fails', async () => {
  const { clock, cache } = rig()
  const render = countedRender()
  await cache.get('k', render, minute)
  clock.jump(1_090_000)
  render.gives = () => Promise.reject(new Error('down'))
  const failed = await cache.get('k', render, minute)
  assert.equal(shown(failed), 'stale v1')
  assert.match(String(failed.failure), /down/)
  clock.jump(1_359_999)
  assert.equal(shown(await cache.get('k', render, minute)), 'stale v1')
  clock.jump(1_360_000)
  await assert.rejects(async () => cache.get('k', render, minute), /down/)
  render.gives = () => 'v2'
  assert.equal(shown(await cache.get('k', render, minute)), 'miss v2')
})

test('two caches on one store: 8 readers at expiry cause one render', async () => {
  const { clock, cells, cache } = rig()
  const other = objectCache(cells, { clock })
  const render = countedRender()
  const terms = { revalidateSeconds: 1, staleIfErrorSeconds: 60 }
  await cache.get('k', render, terms)
  assert.equal(shown(await other.get('k', render, terms)), 'hit v1')
  clock.jump(start + 1000)
  render.gives = async () => {
    await pause(clock, 300)
    return 'v2'
  }
  const readers = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? cache : other).get('k', render, terms))
  const answers = (await eventually(clock, Promise.all(readers))).map(shown)
  assert.equal(render.calls, 2)
  assert.deepEqual(new Set(answers), new Set(['miss v2', 'wait-hit v2']))
  assert.equal(answers.filter((answer) => answer === 'miss v2').length, 1)
})

test('a body that is missing although META is fresh is regenerated', async () => {
  const { clock, cells, cache } = rig()
  const render = countedRender()
  await cache.get('k', render, minute)
  const { pk } = nameOf('k')
  const chunk = cells.list(pk, 1)
  assert.ok(Array.isArray(chunk))
  const sk = chunk.map(([name]) => name).find((name) => name.startsWith('VER#'))!
  assert.ok(cells.remove({ pk, sk }, { is: 'expired', deadline: 'freshUntil' }))
  assert.equal(shown(await objectCache(cells, { clock }).get('k', render, minute)), 'miss v2')
  assert.equal(shown(await objectCache(cells, { clock }).get('k', render, minute)), 'hit v2')
})

test('headers are shared with later readers: they cannot be changed', async () => {
  const { clock, cells, cache } = rig()
  const render = countedRender(() => ({ body: Buffer.from('v1'), headers: ['Content-Type', 'text/plain'] }))
  const rendered = await cache.get('k', render, minute)
  const read = await objectCache(cells, { clock }).get('k', render, minute)
  for (const { headers } of [rendered, read]) {
    assert.deepEqual(headers, ['Content-Type', 'text/plain'])
    assert.throws(() => (headers as string[]).push('Age', '1'), TypeError)
  }
})

test('hits do not read the store, but for one look for invalidations in half of the notice time', async () => {
  const { clock, cells } = rig()
  const reads: string[] = []
  const get = cells.get.bind(cells)
  cells.get = (id, v) => {
    reads.push(id.sk)
    return get(id, v)
  }
  const cache = objectCache(cells, { clock })
  const render = countedRender()
  await cache.get('k', render, minute)
  reads.length = 0
  for (let i = 0; i < 20; i++) {
    assert.ok(!(cache.get('k', render, minute) instanceof Promise))
    await clock.advance(1000)
  }
  assert.ok(reads.length <= 8 && reads.every((sk) => sk === 'HEAD'), reads.join())
})

test('terms of the response count instead of the reader’s', async () => {
  const { clock, cells, cache } = rig()
  const own = { revalidateSeconds: 5 }
  const render = countedRender((call) => ({ body: Buffer.from(`v${call}`), terms: own }))
  const first = await cache.get('k', render, minute)
  assert.equal(first.freshUntil, start + 5000)
  clock.jump(start + 4999)
  assert.equal(shown(await objectCache(cells, { clock }).get('k', render, minute)), 'hit v1')
  clock.jump(start + 5000)
  assert.equal(shown(await cache.get('k', render, minute)), 'miss v2')
})

test('nodes whose clocks differ by seconds share objects; an object dated far ahead is not fresh', async () => {
  const { clock, cells, cache } = rig()
  const render = countedRender()
  const [ahead, astray] = [5000, 3_600_000].map((ms) => objectCache(cells, { clock: skewed(clock, ms) }))
  await ahead!.get('k', render, minute)
  assert.equal(shown(await cache.get('k', render, minute)), 'hit v1')
  await cache.invalidate('k')
  assert.equal(shown(await cache.get('k', render, minute)), 'miss v2')
  assert.equal(shown(await cache.get('k', render, minute)), 'hit v2')
  await astray!.get('far', render, minute)
  assert.equal(shown(await cache.get('far', render, minute)), 'miss v4')
  assert.equal(shown(await objectCache(cells, { clock }).get('far', render, minute)), 'hit v4')
})
