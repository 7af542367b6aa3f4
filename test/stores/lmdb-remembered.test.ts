/** The memoised reads of the file's store: never anything that the file no longer has. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import test from 'node:test'
import { setTimeout as timer } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Interval } from '../../src/core/interval.ts'
import type { PaneBody } from '../../src/core/pane.ts'
import { garbageCollector } from '../../src/core/runtime.ts'
import type { LmdbStore } from '../../src/stores/lmdb/index.ts'
import { dataFile } from '../../src/stores/lmdb/place.ts'
import type { Found } from '../../src/stores/store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { modelOf } from '../../src/testing/pane-model.ts'
import { seededRandom, wholeNumber } from '../../src/testing/random.ts'
import { HANG_MS } from '../wait.ts'
import { entryOf, expected, fetchedAt, twoBlocks as two } from './lettered.ts'
import { scratchDirectory, scratchStore } from './scratch.ts'
import { keyNumber, shapeNumber } from './truth.ts'

const all: Interval = { from: -1e12, to: 1e12 }
const key = keyNumber(0)
const child = fileURLToPath(import.meta.resolve('./lettered.ts'))

/** The content of an interval in a store, as text. */
function said(store: LmdbStore, interval = all, of = key): string {
  const found = store.read(of, interval) as Found | undefined
  if (found === undefined) return 'nothing'
  return found.panes
    .flatMap((pane) => [...(modelOf(pane).columns.get('rank')?.lanes[0]?.values() ?? [])])
    .join('')
}

function bodiesOf(store: LmdbStore, interval = all): PaneBody[] {
  return (store.read(key, interval) as Found).panes.map((pane) => pane.body)
}

/** The library keeps one snapshot per turn of the event loop, until its timer of no time has come. */
const turn = (): Promise<void> => timer(2)

async function opened(count: number): Promise<LmdbStore[]> {
  const directory = scratchDirectory()
  const stores: LmdbStore[] = []
  for (let i = 0; i < count; i++) stores.push(await scratchStore({ clock: fakeClock(), directory }))
  return stores
}

const close = (stores: readonly LmdbStore[]): Promise<unknown> =>
  Promise.all(stores.map((store) => store.close()))

test('unchanged rows are read as the same bodies, and stay so where only other rows change', async () => {
  const [store] = await opened(1)
  await store!.write(key, entryOf('a', two))
  const bodies = bodiesOf(store!)
  assert.equal(bodies.length, 2)
  await turn()
  assert.ok(bodiesOf(store!).every((body, i) => body === bodies[i]))
  assert.equal(said(store!, { from: 100, to: 140 }), expected('a', { from: 100, to: 140 }))
  await store!.write(key, entryOf('a', { from: 256, to: 384 }))
  await turn()
  const after = bodiesOf(store!)
  assert.equal(after.length, 3)
  assert.ok(bodies.every((body, i) => body === after[i]))
  await store!.write(keyNumber(1), entryOf('b', two))
  await turn()
  assert.equal(said(store!), expected('a', { from: 0, to: 384 }))
  await close([store!])
})

test('windows of one key, narrower, wider and aside, in any order', async () => {
  const [store] = await opened(1)
  await store!.write(key, entryOf('a', { from: -300, to: 700 }))
  const random = seededRandom(7)
  for (let i = 0; i < 200; i++) {
    const from = wholeNumber(random, -400, 750)
    const interval = { from, to: from + wholeNumber(random, 0, 500) }
    const there = { from: Math.max(from, -300), to: Math.max(-300, Math.min(interval.to, 700)) }
    assert.equal(said(store!, interval), there.from < there.to ? expected('a', there) : '')
  }
  await close([store!])
})

for (const [who, writer] of [
  ['by this store', 0],
  ['by another on the same file', 1],
] as const) {
  test(`rows are removed ${who}: nothing of them is read again`, async () => {
    const stores = await opened(2)
    const [store, other] = [stores[0]!, stores[writer]!]
    await store.write(key, entryOf('a', two))
    const held = bodiesOf(store)
    assert.equal(said(store), expected('a', two))
    assert.equal(await other.remove(key, { from: 0, to: 128 }), 128)
    await turn()
    assert.equal(said(store), expected('a', { from: 128, to: 256 }))
    assert.equal(await other.remove(key, { from: 128, to: 256 }), 128)
    await turn()
    assert.equal(said(store), '')
    await other.write(key, entryOf('a', two))
    await turn()
    assert.equal(said(store), expected('a', two))
    assert.equal(await other.remove(key), 256)
    await turn()
    assert.equal(said(store), 'nothing')
    assert.equal(held.length, 2)
    await close(stores)
  })

  test(`other buckets under the very same row keys, written ${who}: those are read`, async () => {
    const stores = await opened(2)
    const [store, other] = [stores[0]!, stores[writer]!]
    await store.write(key, entryOf('a', two))
    // Held, so that the collector has no part in it.
    const held = [bodiesOf(store)]
    // In one transaction, in two, and with a part of the rows only.
    await Promise.all([other.remove(key), other.write(key, entryOf('b', two))])
    await turn()
    assert.equal(said(store), expected('b', two))
    held.push(bodiesOf(store))
    await other.remove(key)
    await other.write(key, entryOf('c', two))
    await turn()
    assert.equal(said(store), expected('c', two))
    held.push(bodiesOf(store))
    await Promise.all([
      other.remove(key, { from: 0, to: 128 }),
      other.write(key, entryOf('d', { from: 0, to: 128 })),
    ])
    await turn()
    assert.equal(said(store), expected('d', { from: 0, to: 128 }) + expected('c', { from: 128, to: 256 }))
    assert.equal(held.length, 3)
    await close(stores)
  })
}

test('other buckets under the very same row keys, written by another process: those are read', async () => {
  const directory = scratchDirectory()
  const store = await scratchStore({ clock: fakeClock(), directory })
  await store.write(key, entryOf('a', two))
  const held = bodiesOf(store)
  for (const letter of ['b', 'c', 'a']) {
    const { status, stderr } = spawnSync(process.execPath, [child, directory, letter], { timeout: HANG_MS })
    assert.equal(status, 0, stderr.toString())
    await turn()
    assert.equal(said(store), expected(letter, two))
    held.push(...bodiesOf(store))
  }
  assert.equal(held.length, 8)
  await store.close()
})

test('a transaction that fails keeps the memoised rows right', async () => {
  const clock = fakeClock()
  const store = await scratchStore({ clock })
  await store.write(key, entryOf('a', two))
  const held = bodiesOf(store)
  // A shape that cannot be written as JSON: the rows are laid before its record fails, and all of it is undone.
  const broken = { ...shapeNumber(0), sources: [1n] as unknown as string[] }
  const { pane } = entryOf('b', two, fetchedAt + 1)
  assert.equal(await store.write(key, { pane, shape: broken }), false)
  await turn()
  assert.equal(said(store), expected('a', two))
  // After a failure nothing is written for a while; the next transaction then has the number of the one that failed.
  await clock.advance(30_000)
  assert.ok(await store.write(key, entryOf('c', two, fetchedAt + 1)))
  await turn()
  assert.equal(said(store), expected('c', two))
  assert.equal(held.length, 2)
  await store.close()
})

test('two stores change one file at random: both return the content of a freshly opened one', async () => {
  const directory = scratchDirectory()
  const open = () => scratchStore({ clock: fakeClock(), directory, settledAgeMs: 0 })
  const both = [await open(), await open()]
  const random = seededRandom(31)
  const dice = (min: number, max: number) => wholeNumber(random, min, max)
  const held: PaneBody[] = []
  for (let round = 0; round < 60; round++) {
    const changes = Array.from({ length: dice(1, 3) }, async () => {
      const [store, of] = [both[dice(0, 1)]!, keyNumber(dice(0, 1))]
      const from = dice(-200, 300)
      const interval = { from, to: from + dice(1, 300) }
      const letter = 'abcd'[dice(0, 3)]!
      // Few instants and letters, so that rows come back with the same keys.
      if (dice(0, 2) > 0) await store.write(of, entryOf(letter, interval, fetchedAt - dice(0, 1)))
      else await store.remove(of, dice(0, 1) === 0 ? undefined : interval)
    })
    await Promise.all(changes)
    await turn()
    const fresh = await open()
    for (const store of both) {
      held.push(...bodiesOfAny(store))
      for (const n of [0, 1]) {
        const from = dice(-300, 600)
        for (const interval of [{ from, to: from + dice(0, 300) }, all])
          assert.equal(
            said(store, interval, keyNumber(n)),
            said(fresh, interval, keyNumber(n)),
            `round ${round}`,
          )
      }
    }
    await fresh.close()
  }
  assert.ok(held.length > 100)
  await close(both)
})

const bodiesOfAny = (store: LmdbStore): PaneBody[] =>
  store.read(key, all) === undefined ? [] : bodiesOf(store)

/** Writes one byte over the place where a text lies in the file. */
function damage(directory: string, text: string): void {
  const at = readFileSync(dataFile(directory)).lastIndexOf(text)
  assert.ok(at > 0)
  const file = openSync(dataFile(directory), 'r+')
  writeSync(file, '!', at)
  closeSync(file)
}

test('a damaged value is never remembered; one that is damaged later is found when its key changes', async () => {
  const directory = scratchDirectory()
  const store = await scratchStore({ clock: fakeClock(), directory })
  await store.write(key, entryOf('a', two))
  damage(directory, 'a7,a8,')
  for (const times of [1, 2]) {
    assert.equal(said(store), expected('a', { from: 128, to: 256 }))
    assert.equal(store.counters.damagedValues, times)
  }
  const [held] = bodiesOf(store)
  damage(directory, 'a200,a201,')
  // Data that was right when it was read may be used, the file's damaged data may not.
  assert.equal(said(store), expected('a', { from: 128, to: 256 }))
  await store.write(key, entryOf('a', { from: 256, to: 384 }))
  await turn()
  assert.equal(said(store), expected('a', { from: 256, to: 384 }))
  assert.equal(held!.from, 128)
  await store.write(key, entryOf('b', two, fetchedAt + 1))
  await turn()
  assert.equal(said(store), expected('b', two) + expected('a', { from: 256, to: 384 }))
  await store.close()
})

test('expired or surplus rows are removed from the memo, too', async () => {
  const clock = fakeClock()
  const store = await scratchStore({ clock, retentionMs: 3_600_000, maxBucketsPerShape: 400 })
  await store.write(key, entryOf('a', two))
  const held = bodiesOf(store)
  await store.write(key, entryOf('b', { from: 256, to: 512 }))
  await turn()
  assert.equal(said(store), expected('a', { from: 128, to: 256 }) + expected('b', { from: 256, to: 512 }))
  await clock.advance(3_600_000)
  await store.write(key, entryOf('c', { from: 600, to: 610 }, clock.now()))
  await turn()
  assert.equal(said(store), expected('c', { from: 600, to: 610 }))
  await clock.advance(3_600_000 + 120_000)
  await store.maintain()
  await turn()
  assert.equal(said(store), 'nothing')
  assert.equal(held.length, 2)
  await store.close()
})

test('a note of use changes the record and nothing else', async () => {
  const clock = fakeClock()
  const store = await scratchStore({ clock })
  await store.write(key, entryOf('a', two))
  const bodies = bodiesOf(store)
  await clock.advance(30 * 60_000)
  assert.equal(said(store), expected('a', two))
  await store.maintain()
  await turn()
  assert.ok(bodiesOf(store).every((body, i) => body === bodies[i]))
  await store.close()
})

test('bodies are held weakly: unreachable ones are collected, and read anew', async () => {
  const collect = garbageCollector()
  const [store] = await opened(1)
  await store!.write(key, entryOf('a', two))
  const ids = bodiesOf(store!).map((body) => body.id)
  await turn()
  collect()
  assert.equal(said(store!), expected('a', two))
  const anew = bodiesOf(store!).map((body) => body.id)
  assert.ok(anew.every((id) => !ids.includes(id)))
  await close([store!])
})
