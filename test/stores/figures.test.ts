/** The stores' own figures: counted right, also when they are in trouble. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openFarStores } from '../../src/cli/stores.ts'
import { loadConfig } from '../../src/config/load.ts'
import { settingsOf } from '../../src/config/settings.ts'
import { Budget } from '../../src/core/budget.ts'
import { type FarStore, Tiers } from '../../src/proxy/assembly/tiers.ts'
import type { StoreOperation } from '../../src/stores/figures.ts'
import { StoreGuard } from '../../src/stores/guard.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import type { Store } from '../../src/stores/store.ts'
import { tieredStore } from '../../src/stores/tiered.ts'
import { Log } from '../../src/telemetry/log.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { scratchStore } from './scratch.ts'
import { entryOf, keyNumber } from './truth.ts'

const day = 86_400_000
const hour = { from: 0, to: 60 }

const memory = (clock: FakeClock, bytes = 64 * 1024 * 1024, maxBucketsPerShape = 100_000): Store =>
  memoryStore({ clock, budget: new Budget(bytes), retentionMs: day, maxBucketsPerShape })

test('memory counts its keys, its bytes, and its evictions, by reason', async () => {
  const clock = fakeClock()
  const budget = new Budget(64 * 1024 * 1024)
  const store = memoryStore({ clock, budget, retentionMs: day, maxBucketsPerShape: 50 })
  for (let n = 0; n < 4; n++) store.write(keyNumber(n), entryOf(n, hour, clock.now()))
  const before = store.figures!()
  assert.deepEqual([before.entries, before.bytes], [4, budget.used])
  assert.deepEqual(before.evictions, { memory: 0, expired: 0, surplus: 40 })
  await clock.advance(day + 1)
  store.write(keyNumber(9), entryOf(9, hour, clock.now()))
  assert.equal(store.figures!().entries, 1)
  assert.ok(budget.reserve(budget.limit))
  assert.deepEqual(store.figures!(), {
    entries: 0,
    bytes: 0,
    evictions: { memory: 1, expired: 4, surplus: 50 },
  })
})

test('the file counts its keys and bytes, and reports when it is closed', async () => {
  const clock = fakeClock()
  const store = await scratchStore({ clock, retentionMs: day })
  const empty = store.figures!()
  assert.deepEqual([empty.entries, empty.health, empty.failures], [0, { state: 'ok' }, 0])
  for (let n = 0; n < 5; n++) await store.write(keyNumber(n), entryOf(n, { from: 0, to: 1500 }, clock.now()))
  await store.remove(keyNumber(0))
  const full = store.figures!()
  assert.equal(full.entries, 4)
  assert.ok(
    full.bytes! > empty.bytes! && full.fileBytes! >= full.bytes! && full.limitBytes! > full.fileBytes!,
  )
  await clock.advance(2 * day)
  await store.maintain()
  assert.deepEqual(store.figures!().evictions, { disk: 0, expired: 4 })
  await store.close()
  const { health, entries } = store.figures!()
  assert.deepEqual([health, entries], [{ state: 'closed' }, undefined])
})

test('a far store that fails is open until a probe succeeds, and its operations are measured', async () => {
  const clock = fakeClock()
  const operations: [StoreOperation, number][] = []
  const far: Store = { ...plain(memory(clock)), read: () => new Promise(() => {}) }
  const onOperation = (operation: StoreOperation, ms: number) => void operations.push([operation, ms])
  const guard = new StoreGuard({ clock, timeoutMs: 100, onOperation })
  const store = tieredStore({ clock, near: memory(clock), far, guard })
  assert.deepEqual(store.farFigures().health, { state: 'ok' })
  for (let n = 0; n < 3; n++) {
    store.seen!(keyNumber(0))
    const pending = store.read(keyNumber(0), hour)
    await clock.advance(100)
    await pending
  }
  assert.deepEqual(operations, Array(3).fill(['read', 100]))
  const { health, failures, breaker } = store.farFigures()
  assert.deepEqual([health!.state, health!.trouble, failures], ['open', 'failing', 3])
  assert.match(health!.detail!, /longer than 100 ms \(no answer in time\).* tried again in [01]\.\d s\.$/)
  assert.deepEqual(breaker, { state: 'open', transitions: { closed: 0, open: 1, half_open: 0 } })
  store.write(keyNumber(0), entryOf(0, hour, clock.now()))
  store.write(keyNumber(0), entryOf(0, hour, clock.now()))
  assert.equal(store.farFigures().dropped, 2)
  await clock.advance(5000)
  assert.deepEqual(
    [store.farFigures().health!.state, store.farFigures().breaker!.state],
    ['open', 'half_open'],
  )
  store.write(keyNumber(0), entryOf(0, hour, clock.now()))
  await store.idle()
  assert.deepEqual(operations.slice(3), [['write', 0]])
  assert.deepEqual(store.farFigures().health, { state: 'ok' })
})

test('tiers are listed apart, memory once, and one that could not be opened is there', () => {
  const clock = fakeClock()
  const missing = { engine: 'lmdb', state: 'missing', trouble: 'busy' } as const
  const farStores = new Map<string, FarStore>([
    ['disk', opened(memory(clock))],
    ['memory', opened(memory(clock))],
    ['gone', missing],
  ])
  const tiers = new Tiers({
    clock,
    memory: memory(clock),
    farStores,
    telemetry: undefined,
    retentionMs: 86_400_000,
  })
  const figures = tiers.figures()
  assert.deepEqual(
    figures.map(({ name, health }) => [name, health?.state]),
    [
      ['memory', undefined],
      ['disk', 'ok'],
      ['memory-far', 'ok'],
      ['gone', 'missing'],
    ],
  )
  assert.equal(tiers.of('gone'), tiers.of(undefined))
})

test('a store that cannot be opened is reported, and is listed as missing', async () => {
  const text = `
backends: { main: { url: 'http://127.0.0.1:1', store: disk } }
stores: { disk: { type: lmdb, path: /dev/null/panes } }`
  const loaded = loadConfig({ file: { name: 'test.yaml', bytes: Buffer.from(text) } })
  assert.ok('config' in loaded)
  let said = ''
  const write = (line: string): boolean => {
    said += line
    return true
  }
  const log = new Log({ clock: fakeClock(0), level: () => 'warn', format: () => 'text', write })
  const { config } = loaded
  const disk = (
    await openFarStores(config, { settings: () => settingsOf(config), config: () => config, log })
  ).get('disk')!
  assert.ok('state' in disk)
  assert.deepEqual([disk.state, disk.trouble], ['missing', 'not_writable'])
  assert.match(said, /stores\.disk: .* kept in memory only/)
})

const opened = (panes: Store): FarStore => ({
  ...{ panes, engine: 'memory', timeoutMs: 250 },
  close: async () => panes.close(),
})

/** Its methods as properties, so that one can be replaced. */
const plain = (inner: Store): Store => ({
  name: 'far',
  record: (key) => inner.record(key),
  read: (key, interval) => inner.read(key, interval),
  write: (key, entry) => inner.write(key, entry),
  remove: (key, interval) => inner.remove(key, interval),
  shapes: () => inner.shapes(),
  close: () => inner.close(),
})
