import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MaybePromise } from '../stores/store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { ResolutionCache } from './resolution-cache.ts'

interface Rig {
  readonly reads: string[]
  answer: (key: string) => MaybePromise<string | undefined>
}

function rig(answer: Rig['answer'], maxEntries = 100) {
  const clock = fakeClock()
  const state: Rig = { reads: [], answer }
  const cache = new ResolutionCache<string>({
    ...{ clock, ttlMs: 60_000, maxEntries },
    read: (key) => {
      state.reads.push(key)
      return state.answer(key)
    },
  })
  return { clock, state, cache }
}

const later = <T>(value: T): Promise<T> => Promise.resolve().then(() => value)

test('a row that was read is returned at once, absent or not, until its TTL is over', async () => {
  const { clock, state, cache } = rig((key) => later(key === 'absent' ? undefined : `row of ${key}`))
  assert.equal(await cache.get('a'), 'row of a')
  assert.equal(await cache.get('absent'), undefined)
  assert.equal(cache.get('a'), 'row of a')
  assert.equal(cache.get('absent'), undefined)
  await clock.advance(44_999)
  assert.equal(cache.get('a'), 'row of a')
  assert.deepEqual(state.reads, ['a', 'absent'])
  await clock.advance(15_001)
  assert.ok(cache.get('a') instanceof Promise)
})

test('a row in use is read again in the background, and no request waits', async () => {
  const { clock, state, cache } = rig(() => later('old'))
  await cache.get('a')
  state.answer = () => later('new')
  await clock.advance(45_000)
  assert.equal(cache.get('a'), 'old')
  await clock.advance(0)
  assert.equal(cache.get('a'), 'new')
  assert.equal(state.reads.length, 2)
})

test('the TTL counts from when the read was sent', async () => {
  const { clock, state, cache } = rig(
    () => new Promise((resolve) => void clock.after(59_000, () => resolve('slow'))),
  )
  const first = cache.get('a')
  await clock.advance(59_000)
  assert.equal(await first, 'slow')
  await clock.advance(1000)
  assert.ok(cache.get('a') instanceof Promise)
  assert.equal(state.reads.length, 2)
})

test('concurrent misses of a key share one read, and other keys do not wait for it', async () => {
  let release = (_: string): void => {}
  const { state, cache } = rig((key) =>
    key === 'slow' ? new Promise((resolve) => (release = resolve)) : `row of ${key}`,
  )
  const waiting = Array.from({ length: 50 }, () => cache.get('slow'))
  assert.equal(cache.get('quick'), 'row of quick')
  assert.deepEqual(state.reads, ['slow', 'quick'])
  release('at last')
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['at last']))
})

test('a change made here wins over a read that began before it', async () => {
  let release = (_: string): void => {}
  const { cache } = rig(() => new Promise((resolve) => (release = resolve)))
  const waiting = cache.get('a')
  cache.set('a', 'changed')
  assert.equal(cache.get('a'), 'changed')
  release('old')
  assert.equal(await waiting, 'changed')
  assert.equal(cache.get('a'), 'changed')
})

test('where the store fails, the last read stays, and the store is read once a second', async () => {
  const { clock, state, cache } = rig(() => later('known'))
  await cache.get('a')
  state.answer = () => Promise.reject(new Error('down'))
  await clock.advance(3_600_000)
  assert.equal(await cache.get('a'), 'known')
  for (let i = 0; i < 100; i++) assert.equal(cache.get('a'), 'known')
  assert.equal(state.reads.length, 2)
  await clock.advance(1000)
  state.answer = () => later('well again')
  assert.equal(await cache.get('a'), 'well again')
})

test('where nothing was ever read, a failure reaches every waiter, and the next request reads again', async () => {
  const { state, cache } = rig(() => Promise.reject(new Error('down')))
  const [first, second] = [cache.get('a'), cache.get('a')]
  await assert.rejects(async () => first, /down/)
  await assert.rejects(async () => second, /down/)
  state.answer = () => {
    throw new Error('broken at once')
  }
  await assert.rejects(async () => cache.get('a'), /broken at once/)
  state.answer = () => 'fine'
  assert.equal(cache.get('a'), 'fine')
  assert.equal(state.reads.length, 3)
})

test('a background read that fails after the row was forgotten is no unhandled rejection', async () => {
  const { clock, state, cache } = rig(() => later('known'))
  await cache.get('a')
  await clock.advance(50_000)
  state.answer = () => Promise.reject(new Error('down'))
  assert.equal(cache.get('a'), 'known')
  cache.forget('a')
  await clock.advance(0)
  assert.equal(cache.size, 0)
})

test('entries are bounded, and long expired ones are purged as others come', async () => {
  const { clock, cache } = rig((key) => key, 1000)
  for (let i = 0; i < 5000; i++) cache.get(`entity-${i}`)
  assert.equal(cache.size, 1000)
  await clock.advance(11 * 60_000)
  for (let i = 0; i < 500; i++) cache.get(`later-${i}`)
  assert.equal(cache.size, 500)
})
