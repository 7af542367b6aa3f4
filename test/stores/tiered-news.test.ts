import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget } from '../../src/core/budget.ts'
import { pause } from '../../src/core/clock.ts'
import { clockOf } from '../../src/core/pane.ts'
import { StoreGuard } from '../../src/stores/guard.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { RowStore } from '../../src/stores/rows/row-store.ts'
import type { Store } from '../../src/stores/store.ts'
import { type TieredStore, tieredStore } from '../../src/stores/tiered.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { paneOfFetch } from '../../src/testing/pane-model.ts'
import { keyOfShape, shapeOf } from '../../src/testing/store-laws-panes.ts'
import { storeWith } from '../rigs/engine-rig.ts'
import { MemoryRowEngine, MemoryServer } from '../rigs/memory-engines.ts'

const retentionMs = 86_400_000
const noticeMs = 10_000
/** More than an operation of the store may take. */
const lateMs = 300
const shape = shapeOf('up')
const key = keyOfShape(shape)
const interval = { from: 0, to: 4 }

const memoryOf = (clock: FakeClock): Store =>
  memoryStore({ clock, budget: new Budget(1e8), retentionMs, maxBucketsPerShape: 1e5 })

interface Fault {
  /** Stamps can be read, and no rows. */
  isUnreadable?: boolean
  /** Rows are read, but later than the store may take. */
  isLate?: boolean
  /** Rows are read in time, but not at once. */
  isSlow?: boolean
  /** Stamps are read later than the store may take. */
  areStampsLate?: boolean
  isUntrusted?: boolean
}

/** Two nodes, each with its own memory, on one server. */
function twoNodes(
  clock: FakeClock,
  hasPubsub: boolean,
  fault: Fault = {},
): readonly [TieredStore, TieredStore] {
  const server = new MemoryServer()
  const node = () => {
    const engine = new MemoryRowEngine(server, { hasPubsub })
    const read = engine.read.bind(engine)
    engine.read = async (id, range) => {
      if (fault.isUnreadable && range !== undefined) throw new Error('the connection was lost')
      const isLate = range === undefined ? fault.areStampsLate : fault.isLate
      if (isLate || fault.isSlow) await pause(clock, isLate ? lateMs : lateMs / 2)
      return read(id, range)
    }
    const far = new RowStore({ engine, clock, retentionMs })
    const isTrusted = () => fault.isUntrusted !== true
    return tieredStore({ clock, near: memoryOf(clock), far, noticeMs, isTrusted })
  }
  return [node(), node()]
}

async function write(node: TieredStore, fetchedAt: number): Promise<void> {
  await node.write(key, { pane: paneOfFetch({ interval, fetchedAt, notes: [], columns: [] }), shape })
  await node.share(key, interval, true)
  await node.idle()
}

/** The clock of the first bucket that a hit would be served from. */
async function shown(node: TieredStore): Promise<number | undefined> {
  node.seen!(key)
  const pane = (await node.near!(key, interval))?.panes[0]
  return pane && clockOf(pane, 0)
}

/** Lets all background work end. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await Promise.resolve()
}

async function atBoth(clock: FakeClock, nodes: readonly TieredStore[]): Promise<number> {
  const first = clock.now()
  await write(nodes[0]!, first)
  nodes[1]!.seen!(key)
  await nodes[1]!.read(key, interval)
  assert.equal(await shown(nodes[1]!), first)
  return first
}

/** The clocks of what both nodes have in memory, and of what the first one has fetched anew a second later. */
async function renewedByOne(
  clock: FakeClock,
  nodes: readonly [TieredStore, TieredStore],
): Promise<readonly [number, number]> {
  const first = await atBoth(clock, nodes)
  await clock.advance(1000)
  const second = clock.now()
  await write(nodes[0], second)
  return [first, second]
}

test('a key in use shows the fetches of another node within twice the time, though its own copy is fresh', async () => {
  const clock = fakeClock()
  const [a, b] = twoNodes(clock, false)
  const [first, second] = await renewedByOne(clock, [a, b])
  assert.equal(await shown(b), first)
  for (const waited of [5000, 5000]) {
    await clock.advance(waited)
    await shown(b)
    await settle()
  }
  assert.equal(await shown(b), second)
})

test('a key that was not read for long is compared before it is served', async () => {
  const clock = fakeClock()
  const [a, b] = twoNodes(clock, false)
  const [, second] = await renewedByOne(clock, [a, b])
  await clock.advance(2 * noticeMs)
  assert.equal(await shown(b), second)
})

for (const fault of ['isUnreadable', 'isLate', 'areStampsLate', 'isUntrusted'] as const)
  test(`a store that ${fault} when a key is due for comparison: it is compared once that is over`, async () => {
    const clock = fakeClock()
    const faults: Fault = {}
    const [a, b] = twoNodes(clock, false, faults)
    const [first, second] = await renewedByOne(clock, [a, b])
    faults[fault] = true
    await clock.advance(noticeMs)
    assert.equal(await shown(b), first)
    await settle()
    await clock.advance(lateMs)
    await settle()
    faults[fault] = false
    await clock.advance(noticeMs)
    await shown(b)
    await settle()
    assert.equal(await shown(b), second)
  })

test('a purge while a key is compared, whose result is not used then: it is compared once more', async () => {
  const clock = fakeClock()
  const faults: Fault = {}
  const [a, b] = twoNodes(clock, false, faults)
  const [first, second] = await renewedByOne(clock, [a, b])
  faults.isSlow = true
  await clock.advance(noticeMs)
  assert.equal(await shown(b), first)
  await clock.advance(lateMs / 2)
  const purging = b.remove(keyOfShape(shapeOf('other')))
  await clock.advance(4 * lateMs)
  await purging
  faults.isSlow = false
  assert.equal(await shown(b), first)
  await clock.advance(noticeMs)
  await shown(b)
  await settle()
  assert.equal(await shown(b), second)
})

test('a request waits half a second for a comparison, however long the store may take: it is served from memory then', async () => {
  const clock = fakeClock()
  const guard = new StoreGuard({ clock, timeoutMs: 10_000 })
  const far = { ...storeWith(memoryOf(clock), {}), hasNews: () => new Promise<boolean>(() => {}) }
  const node = tieredStore({ clock, near: memoryOf(clock), far, guard, noticeMs })
  const fetchedAt = clock.now()
  node.seen!(key)
  await write(node, fetchedAt)
  await clock.advance(2 * noticeMs)
  const asked = shown(node)
  assert.ok(node.near!(key, interval) instanceof Promise)
  await clock.advance(500)
  assert.ok(!(node.near!(key, interval) instanceof Promise))
  assert.equal(await asked, fetchedAt)
})

test('where changes are announced, the second look shows them', async () => {
  const clock = fakeClock()
  const [a, b] = twoNodes(clock, true)
  await atBoth(clock, [a, b])
  await clock.advance(1)
  const second = clock.now()
  await write(a, second)
  await shown(b)
  await settle()
  assert.equal(await shown(b), second)
})

test('a key without writes by others is not read again', async () => {
  const clock = fakeClock()
  const [a, b] = twoNodes(clock, false)
  await atBoth(clock, [a, b])
  await shown(a)
  const { found } = a.far
  for (let round = 0; round < 5; round++) {
    await clock.advance(noticeMs)
    await shown(a)
    await settle()
  }
  assert.equal(a.far.found, found)
})
