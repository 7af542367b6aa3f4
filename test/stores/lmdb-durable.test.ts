/** Persistence, refusals, and the behaviour of a store with a damaged file, a full disk or a wrong place. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { type Host, systemHost } from '../../src/stores/lmdb/marker.ts'
import { dataFile, systemDisk } from '../../src/stores/lmdb/place.ts'
import type { ShapeRecord } from '../../src/stores/store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { defaults, scratchDirectory, scratchStore } from './scratch.ts'
import { checkStore, entryOf, keyNumber, shapeNumber } from './truth.ts'

const hour = { from: 0, to: 3600 }
const all = { from: -1e12, to: 1e12 }

test('buckets written before a close are there after it, with their record, and the file is only its owner’s', async () => {
  const clock = fakeClock()
  const directory = scratchDirectory()
  const first = await scratchStore({ clock, directory })
  const pending = Array.from({ length: 5 }, (_, n) =>
    first.write(keyNumber(n), entryOf(n, hour, clock.now())),
  )
  await first.close()
  assert.deepEqual(await Promise.all(pending), Array(5).fill(true), 'closing writes the queue')
  assert.equal(first.health.state, 'closed')
  for (const file of ['panes.mdb', 'panes.mdb-lock'])
    assert.equal(statSync(join(directory, file)).mode & 0o777, 0o600)
  const second = await scratchStore({ clock, directory })
  assert.equal(await checkStore(second, 5), 5 * 3600)
  assert.deepEqual([...(second.shapes() as Iterable<unknown>)].length, 5)
  await second.close()
  assert.deepEqual(
    readdirSync(directory).filter((name) => /open|crashes/.test(name)),
    [],
  )
})

test('a key on a grid that is not known here is absent, and can be written again', async () => {
  const clock = fakeClock()
  const store = await scratchStore({ clock })
  const entry = entryOf(1, { from: 0, to: 9 }, clock.now())
  const unknown = { ...entry.shape, grid: { ...entry.shape.grid, step: -1 } }
  await store.write(keyNumber(1), { ...entry, shape: unknown })
  assert.equal(store.read(keyNumber(1), all), undefined)
  assert.deepEqual([...(store.shapes() as Iterable<unknown>)], [])
  await store.write(keyNumber(1), entry)
  assert.equal(await checkStore(store, 2), 9)
  await store.close()
})

test('panes of another format version are absent, to both sides', async () => {
  const clock = fakeClock()
  const directory = scratchDirectory()
  const now = clock.now()
  const old = await scratchStore({ clock, directory })
  await old.write(keyNumber(1), entryOf(1, { from: 0, to: 9 }, now))
  const newer = await scratchStore({ clock, directory, outside: { paneVersion: 2 } })
  assert.equal(newer.read(keyNumber(1), all), undefined)
  assert.deepEqual([...(newer.shapes() as Iterable<unknown>)], [])
  assert.equal(await newer.remove(keyNumber(1)), 0)
  assert.equal(await checkStore(old, 2), 9)
  await newer.close()
  await old.close()
})

test('a network file system, a missing package and a place that cannot be written are values, not exceptions', async () => {
  const clock = fakeClock()
  const directory = scratchDirectory()
  const open = (outside: NonNullable<Parameters<typeof openLmdbStore>[0]['outside']>, at = directory) =>
    openLmdbStore({ ...defaults, clock, directory: at, outside })
  const refusals = [
    await open({ disk: { ...systemDisk, type: () => 0x6969 } }),
    await open({ disk: { ...systemDisk, type: () => 0xff534d42 | 0 } }),
    await open({ library: () => Promise.reject(new Error('no such package')) }),
  ]
  writeFileSync(join(directory, 'file'), '')
  refusals.push(await open({}, join(directory, 'file', 'below')))
  assert.deepEqual(
    refusals.map((one) => ('refused' in one ? one.refused : 'opened')),
    ['network_file_system', 'network_file_system', 'not_installed', 'not_writable'],
  )
  for (const one of refusals) assert.ok('refused' in one && one.detail.length > 20 && one.remedy.length > 10)
  assert.match((refusals[2] as { remedy: string }).remedy, /npm install lmdb/)
})

/** A host on which this process is not the one that left markers behind. */
const hostOf = (given: Partial<Host>): Host => ({ ...systemHost, ...given })
const noDatabase = Buffer.alloc(100_000, 'not a database ')
const deadPid = 2 ** 22 + 1

/** Opens, writes and goes away without closing: the marker of a process that no longer runs stays. */
async function crash(directory: string, host: Host): Promise<void> {
  const clock = fakeClock()
  const store = await scratchStore({ clock, directory, outside: { host } })
  await store.write(keyNumber(0), entryOf(0, { from: 0, to: 5 }, clock.now()))
  const left = readdirSync(directory).find((name) => name.startsWith('open.'))!
  const text = JSON.stringify({ bootId: host.bootId, beganAt: '1' })
  await store.close()
  writeFileSync(join(directory, left), text)
}

async function reopened(directory: string, host: Host): Promise<{ setAside: unknown; buckets: number }> {
  const store = await scratchStore({ clock: fakeClock(), directory, outside: { host } })
  const buckets = await checkStore(store, 1)
  await store.close()
  return { setAside: store.health.setAside, buckets }
}

test('a crash under this boot costs nothing; under another boot the file is set aside', async () => {
  const directory = scratchDirectory()
  await crash(directory, hostOf({ pid: deadPid, bootId: 'one' }))
  assert.deepEqual(await reopened(directory, hostOf({ bootId: 'one' })), { setAside: undefined, buckets: 5 })
  await crash(directory, hostOf({ pid: deadPid, bootId: 'one' }))
  const after = await reopened(directory, hostOf({ bootId: 'two' }))
  assert.deepEqual(after, { setAside: 'machine_went_down', buckets: 0 })
  assert.ok(existsSync(`${dataFile(directory)}.aside`))
  assert.deepEqual(await reopened(directory, hostOf({ bootId: 'two' })), { setAside: undefined, buckets: 0 })
})

test('two crashes in a row set the file aside; a clean end or a quiet minute between them does not', async () => {
  const host = hostOf({ pid: deadPid, bootId: 'one' })
  const twice = scratchDirectory()
  await crash(twice, host)
  // The second one opened the file, found the marker of the first, and crashed as well.
  const second = await scratchStore({ clock: fakeClock(), directory: twice, outside: { host } })
  const left = readdirSync(twice).find((name) => name.startsWith('open.'))!
  const crashes = join(twice, 'crashes')
  assert.ok(existsSync(crashes))
  await second.maintain()
  assert.ok(!existsSync(crashes), 'a minute of work forgives')
  await second.close()
  writeFileSync(join(twice, left), JSON.stringify({ bootId: 'one', beganAt: '1' }))
  assert.deepEqual(await reopened(twice, hostOf({ bootId: 'one' })), { setAside: undefined, buckets: 5 })
  for (const name of ['open.4194305-98', 'open.4194305-99'])
    writeFileSync(join(twice, name), JSON.stringify({ bootId: 'one', beganAt: '1' }))
  const after = await reopened(twice, hostOf({ bootId: 'one' }))
  assert.deepEqual(after, { setAside: 'repeated_crashes', buckets: 0 })
})

test('a file that another process has open is not set aside', async () => {
  const directory = scratchDirectory()
  const clock = fakeClock()
  const first = await scratchStore({ clock, directory })
  await first.write(keyNumber(0), entryOf(0, { from: 0, to: 5 }, clock.now()))
  for (const name of ['open.4194305-1', 'open.4194305-2'])
    writeFileSync(join(directory, name), JSON.stringify({ bootId: 'another', beganAt: '1' }))
  const second = await scratchStore({ clock, directory })
  assert.equal(second.health.setAside, undefined)
  assert.equal(await checkStore(second, 1), 5)
  await second.close()
  assert.equal(await checkStore(first, 1), 5)
  await first.close()
})

test('a file that is no database, or is cut short, is set aside, and the store begins anew', async () => {
  const directory = scratchDirectory()
  const before = await scratchStore({ clock: fakeClock(), directory })
  for (let n = 0; n < 20; n++)
    await before.write(keyNumber(n), entryOf(n, { from: 0, to: 1500 }, fakeClock().now()))
  await before.close()
  const whole = readFileSync(dataFile(directory))
  const wrong = [
    whole.subarray(0, 100),
    whole.subarray(0, 8192),
    whole.subarray(0, whole.length / 2),
    noDatabase,
  ]
  for (const bytes of wrong) {
    writeFileSync(dataFile(directory), bytes)
    const { setAside } = await reopened(directory, systemHost)
    assert.equal(setAside, 'damaged')
  }
  writeFileSync(dataFile(directory), whole)
  assert.deepEqual(await reopened(directory, systemHost), { setAside: undefined, buckets: 1500 })
  writeFileSync(dataFile(directory), noDatabase)
  const store = await scratchStore({ clock: fakeClock(), directory })
  assert.deepEqual(store.health, { state: 'ok', setAside: 'damaged' })
  assert.ok(await store.write(keyNumber(0), entryOf(0, { from: 0, to: 5 }, 1)))
  await store.close()
})

test('a full disk: nothing is written, stored buckets are read, and it recovers', async () => {
  const clock = fakeClock()
  let freeBytes = 1e12
  const disk = { ...systemDisk, freeBytes: () => freeBytes }
  const store = await scratchStore({ clock, reserveBytes: 1e9, outside: { disk } })
  const write = (n: number) => store.write(keyNumber(n), entryOf(n, { from: 0, to: 10 }, clock.now()))
  assert.ok(await write(0))
  freeBytes = 5e8
  await clock.advance(5000)
  assert.equal(await write(1), false)
  const { state, trouble } = store.health
  assert.deepEqual({ state, trouble }, { state: 'degraded', trouble: 'disk_full' })
  assert.equal(await checkStore(store, 2), 10)
  freeBytes = 1e12
  await clock.advance(10_000)
  assert.ok(await write(1))
  assert.equal(store.health.state, 'ok')
  assert.equal(store.counters.refused, 1)
  await store.close()
})

test('a flood stays within the bound: the least recently used keys are evicted', async () => {
  const clock = fakeClock()
  const maxBytes = 8 * 1024 * 1024
  const directory = scratchDirectory()
  const store = await scratchStore({ clock, maxBytes, directory })
  let kept = 0
  for (let n = 0; n < 400; n++) {
    const isKept = await store.write(keyNumber(n), entryOf(n, { from: 0, to: 1500 }, clock.now()))
    if (isKept) kept++
    // A key that is used stays.
    if (n % 10 === 0) {
      store.read(keyNumber(0), { from: 0, to: 1 })
      await clock.advance(15 * 60_000)
      await store.maintain()
    }
    assert.ok(statSync(dataFile(directory)).size <= maxBytes, 'the file is larger than its bound')
  }
  assert.ok(kept > 300, `only ${kept} of 400 were kept`)
  assert.ok(store.counters.evictedKeys > 200)
  assert.notEqual(store.read(keyNumber(0), all), undefined, 'the key in use was let go')
  assert.notEqual(store.read(keyNumber(399), all), undefined)
  assert.equal(store.read(keyNumber(5), all), undefined)
  assert.ok((await checkStore(store, 400)) > 1500)
  assert.equal(
    await store.write(keyNumber(1), entryOf(1, { from: 0, to: 30_000 }, clock.now())),
    false,
    'too big',
  )
  await store.close()
})

test('a burst that does not fit is refused in part, stays within the bound, and passes', async () => {
  const clock = fakeClock()
  const maxBytes = 8 * 1024 * 1024
  const directory = scratchDirectory()
  const store = await scratchStore({ clock, maxBytes, directory })
  const write = (n: number) => store.write(keyNumber(n), entryOf(n, { from: 0, to: 1500 }, clock.now()))
  const kept = await Promise.all(Array.from({ length: 300 }, (_, n) => write(n)))
  assert.ok(kept.includes(true) && kept.includes(false))
  assert.ok(statSync(dataFile(directory)).size <= maxBytes, 'the file is larger than its bound')
  await clock.advance(10_000)
  await write(1000)
  assert.ok(await write(1001), 'there is room again')
  assert.equal(store.health.state, 'ok')
  assert.ok((await checkStore(store, 300)) > 0)
  await store.close()
})

test('buckets of one key are bounded, expired ones are removed, and so are unused keys', async () => {
  const clock = fakeClock()
  const store = await scratchStore({ clock, maxBucketsPerShape: 1000, retentionMs: 3_600_000 })
  const write = (from: number, to: number) => store.write(keyNumber(0), entryOf(0, { from, to }, clock.now()))
  await write(0, 900)
  await write(900, 1500)
  const count = await checkStore(store, 1)
  assert.ok(count <= 1000 && count > 800)
  await clock.advance(3_600_000)
  await write(5000, 5010)
  assert.equal(await checkStore(store, 1), 10)
  await clock.advance(3_600_000 + 120_000)
  await store.maintain()
  assert.equal(store.read(keyNumber(0), all), undefined)
  assert.equal(store.counters.expiredKeys, 1)
  await store.close()
})

test('a peek is no use: a key that was only peeked at is evicted like an unused one', async () => {
  const clock = fakeClock()
  const store = await scratchStore({ clock, retentionMs: 3_600_000 })
  for (const n of [0, 1]) await store.write(keyNumber(n), entryOf(n, { from: 0, to: 5 }, clock.now()))
  await clock.advance(30 * 60_000)
  assert.equal((await store.peek!(keyNumber(0), all))?.panes.length, 1)
  assert.equal((await store.read(keyNumber(1), all))?.panes.length, 1)
  await store.maintain()
  await clock.advance(32 * 60_000)
  await store.maintain()
  assert.equal(await store.peek!(keyNumber(0), all), undefined)
  assert.notEqual(await store.peek!(keyNumber(1), all), undefined)
  await store.close()
})

test('a record of an earlier version is taken for one that may read anything', async () => {
  const clock = fakeClock()
  const store = await scratchStore({ clock })
  const { query: _, knowsAllSources: __, lookbackMs: ___, ...earlier } = shapeNumber(0)
  const { pane } = entryOf(0, { from: 0, to: 5 }, clock.now())
  await store.write(keyNumber(0), { pane, shape: earlier as ShapeRecord })
  const unsure = { query: '', knowsAllSources: false, lookbackMs: Number.POSITIVE_INFINITY }
  assert.deepEqual((await store.read(keyNumber(0), all))?.shape, { ...earlier, ...unsure })
  await store.close()
})

test('a file of mostly free pages is compacted when it is opened alone', async () => {
  const clock = fakeClock()
  const directory = scratchDirectory()
  const store = await scratchStore({ clock, directory })
  for (let n = 0; n < 200; n++)
    await store.write(keyNumber(n), entryOf(n, { from: 0, to: 1500 }, clock.now()))
  for (let n = 3; n < 200; n++) await store.remove(keyNumber(n))
  const before = statSync(dataFile(directory)).size
  assert.ok(before > 16 * 1024 * 1024)
  await store.close()
  const again = await scratchStore({ clock, directory })
  assert.ok(statSync(dataFile(directory)).size < before / 5)
  assert.equal(statSync(dataFile(directory)).mode & 0o777, 0o600)
  assert.equal(await checkStore(again, 200), 3 * 1500)
  assert.deepEqual((await again.read(keyNumber(2), all))?.shape, shapeNumber(2))
  await again.close()
})

test('more than may wait is refused at once', async () => {
  const clock = fakeClock()
  const store = await scratchStore({ clock, maxQueuedBytes: 300_000 })
  const writes = Array.from({ length: 20 }, (_, n) =>
    store.write(keyNumber(n), entryOf(n, { from: 0, to: 500 }, clock.now())),
  )
  const kept = (await Promise.all(writes)).filter(Boolean).length
  assert.ok(kept > 2 && kept < 20, `${kept} were kept`)
  await store.close()
})
