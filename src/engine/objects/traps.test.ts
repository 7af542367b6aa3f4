/** Faults that other object caches have; each is named as in the reference. Number 1 is in http.test.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pause } from '../../core/clock.ts'
import type { Cells, Change } from '../../stores/cells.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { countedRender, eventually, shown, until } from '../../testing/object-rig.ts'
import { type ObjectCacheOptions, objectCache } from './object-cache.ts'
import { nameOf } from './object-names.ts'

const terms = { revalidateSeconds: 60, staleIfErrorSeconds: 600 }
const { pk } = nameOf('k')

function rig(change: (cells: Cells) => Partial<Cells> = () => ({}), options: ObjectCacheOptions = {}) {
  const clock = fakeClock(1_000_000)
  const cells = memoryCells({ clock })
  const { name, capabilities } = cells
  const bound: Cells = {
    ...{ name, capabilities, close: () => cells.close(), list: (...given) => cells.list(...given) },
    ...{ get: (...given) => cells.get(...given), put: (...given) => cells.put(...given) },
    ...{ take: (...given) => cells.take(...given), remove: (...given) => cells.remove(...given) },
    publish: (changes) => cells.publish(changes),
  }
  const cache = objectCache({ ...bound, ...change(bound) }, { clock, ...options })
  return { clock, cells, cache }
}

test('trap 2: a release that fails never overrides a response', async () => {
  const { cache } = rig(() => ({ remove: () => Promise.reject(new Error('the store is gone')) }))
  const notStored = async () => ({ status: 404, body: Buffer.from('none') })
  assert.equal(shown(await cache.get('k', notStored, terms)), 'miss none')
})

test('trap 3: a render that takes longer than its lease is committed, and happens once', async () => {
  const { clock, cells, cache } = rig(() => ({}), { leaseSeconds: 3 })
  const render = countedRender(() => pause(clock, 20_000).then(() => 'v1'))
  const first = cache.get('k', render, terms)
  await until(clock, () => render.calls === 1)
  const other = objectCache(cells, { clock, leaseSeconds: 3, waitSeconds: 30 })
  const answers = await eventually(clock, Promise.all([first, other.get('k', render, terms)]), 5)
  assert.deepEqual([answers.map(shown), render.calls], [['miss v1', 'wait-hit v1'], 1])
})

test('trap 4: nothing is served beyond its bound, rows are not read after their ttl, and 4xx are not stored', async () => {
  const { clock, cache } = rig()
  const render = countedRender()
  await cache.get('k', render, { ...terms, retentionSeconds: 1 })
  render.gives = () => Promise.reject(new Error('down'))
  clock.jump(1_659_999)
  assert.equal(shown(await cache.get('k', render, terms)), 'stale v1')
  clock.jump(1_660_000)
  await assert.rejects(async () => cache.get('k', render, terms), /down/)
  assert.equal(await cache.peek('k'), undefined)
  // The ttl of the row counts too, whatever the terms of the reader are.
  clock.jump(1_000_000 + 1000 * (660 + 3600))
  await assert.rejects(async () => cache.get('k', render, { ...terms, staleIfErrorSeconds: 1e9 }), /down/)
  render.gives = () => ({ status: 404, body: Buffer.from('none') })
  for (const _ of [1, 2]) assert.equal(shown(await cache.get('k', render, terms)), 'miss none')
})

test('trap 4: a row that a store returns after its ttl is absent', async () => {
  const stored = { clock: fakeClock(1_000_000) }
  const cells = memoryCells({ clock: stored.clock })
  await objectCache(cells, stored).get('k', async () => 'v1', terms)
  const late = fakeClock(1_000_000 + 9 * 86_400_000)
  const reader = objectCache(cells, { clock: late })
  assert.equal(await reader.peek('k'), undefined)
})

test('trap 6: superseded bodies have a collection clock of their own, beyond the time of rollback', async () => {
  const { clock, cells, cache } = rig()
  const render = countedRender()
  await cache.get('k', render, terms)
  clock.jump(1_060_000)
  await cache.get('k', render, terms)
  const bodies = cells.list(pk, 1)
  assert.ok(Array.isArray(bodies))
  const ends = bodies.flatMap(([sk, { collectAt }]) => (sk.startsWith('VER#') ? [collectAt] : []))
  assert.deepEqual(
    ends.sort(),
    [1000, 1060].map((at) => at + 7 * 86_400 + 3600),
  )
})

test('trap 7: a waiter for another node polls seldom, and ever more seldom', async () => {
  let reads = 0
  const { clock, cells, cache } = rig((bound) => ({
    get(id, v) {
      reads++
      return bound.get(id, v)
    },
  }))
  const other = objectCache(cells, { clock })
  const render = countedRender(() => pause(clock, 19_000).then(() => 'v1'))
  const first = other.get('k', render, terms)
  await until(clock, () => render.calls === 1)
  const second = await eventually(clock, cache.get('k', render, terms), 5)
  assert.equal(shown(second), 'wait-hit v1')
  assert.ok(reads <= 30, `${reads} reads`)
  await first
})

test('trap 8: an invalidation keeps META, and a render that is under way is stored and not fresh', async () => {
  const { clock, cells, cache } = rig()
  const render = countedRender((call) => pause(clock, 100).then(() => `v${call}`))
  const first = cache.get('k', render, terms)
  await clock.advance(50)
  await cache.invalidate('k')
  // A request after the invalidation gets an object that was generated after it.
  const second = cache.get('k', render, terms)
  assert.equal(shown(await eventually(clock, first)), 'miss v1')
  assert.equal(shown(await eventually(clock, second)), 'miss v2')
  assert.equal(shown(await cache.get('k', render, terms)), 'hit v2')
  assert.ok(cells.get({ pk, sk: 'META' }, 1))
})

test('trap 9: milliseconds are kept: one second is one second', async () => {
  const { clock, cells, cache } = rig()
  clock.jump(1_000_999)
  const render = countedRender()
  const second = { revalidateSeconds: 1 }
  await cache.get('k', render, second)
  clock.jump(1_001_998)
  const other = objectCache(cells, { clock })
  assert.equal(shown(await other.get('k', render, second)), 'hit v1')
  clock.jump(1_001_999)
  assert.equal(shown(await other.get('k', render, second)), 'miss v2')
})

test('trap 10: a mere conflict is tried again, and is no lost lease', async () => {
  let conflicts = 2
  const { cells, clock, cache } = rig((bound) => ({
    publish(changes) {
      if (conflicts-- > 0) return { ok: false, reason: 'unavailable', failed: 0 }
      return bound.publish(changes)
    },
  }))
  const render = countedRender()
  await cache.get('k', render, terms)
  assert.equal(shown(await objectCache(cells, { clock }).get('k', render, terms)), 'hit v1')
})

test('trap 10: a commit whose reply was lost is a commit', async () => {
  let losses = 1
  const { cells, clock, cache } = rig((bound) => ({
    async publish(changes) {
      const outcome = await bound.publish(changes)
      if (losses-- > 0) throw new Error('the connection was lost')
      return outcome
    },
  }))
  const render = countedRender()
  assert.equal(shown(await cache.get('k', render, terms)), 'miss v1')
  const other = objectCache(cells, { clock })
  assert.equal(shown(await other.get('k', render, terms)), 'hit v1')
  assert.equal(await other.rollback('k'), false, 'the version was published twice')
})

test('trap 11: every row has a ttl', async () => {
  const seen: Change[] = []
  const { cache } = rig((bound) => ({
    put(id, put, condition) {
      seen.push({ id, put, if: condition })
      return bound.put(id, put, condition)
    },
    publish(changes) {
      seen.push(...changes)
      return bound.publish(changes)
    },
  }))
  await cache.get('k', async () => 'v1', terms)
  await cache.invalidate('k')
  const ends = seen.flatMap((change) => ('put' in change ? [change.put.collectAt] : []))
  assert.equal(ends.length, 5)
  assert.ok(ends.every((end) => end !== 'never' && end > 1000))
})

test('trap 12: keys are hashed, and tenants cannot name the rows of another', () => {
  const secret = 'alice@example.org?'.repeat(1000)
  const named = nameOf({ tenant: 'a#CACHE#b', key: secret })
  assert.match(named.pk, /^TENANT#a%23CACHE%23b#CACHE#[0-9a-f]{64}$/)
  const long = nameOf({ tenant: secret, key: '' }).pk
  assert.match(long, /^TENANT#sha256:[0-9a-f]{64}#CACHE#[0-9a-f]{64}$/)
  assert.notEqual(nameOf({ tenant: 'sha256:aa', key: '' }).tenant, 'sha256:aa')
})

test('trap 13: a publish changes no row twice', async () => {
  const published: string[][] = []
  const { cache } = rig((bound) => ({
    publish(changes) {
      published.push(changes.map(({ id }) => id.sk))
      return bound.publish(changes)
    },
  }))
  await cache.get('k', async () => 'v1', terms)
  assert.deepEqual(published, [['META', 'LOCK']])
})
