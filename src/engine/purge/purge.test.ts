import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { rigDefaults, storeWith } from '../../../test/rigs/engine-rig.ts'
import { Budget } from '../../core/budget.ts'
import { endOf, type Grid, startOf } from '../../core/grid.ts'
import { type Key, keyOf } from '../../core/key.ts'
import { clockOf } from '../../core/pane.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { peekInto } from '../../stores/peek.ts'
import type { ShapeRecord, Store } from '../../stores/store.ts'
import { tieredStore } from '../../stores/tiered.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { type Dice, diceOf, paneOfFetch } from '../../testing/pane-model.ts'
import { Marks } from '../marks.ts'
import { Purge, type Selection } from './purge.ts'

const retentionMs = 24 * 3_600_000
const always = { from: -1e12, to: 1e12 }
const infinity = Number.POSITIVE_INFINITY

const memory = (clock: FakeClock): Store =>
  memoryStore({ clock, budget: new Budget(1 << 26), retentionMs, maxBucketsPerShape: 100_000 })

interface Scene {
  readonly clock: FakeClock
  readonly purge: Purge
  /** Per backend the store that it uses. */
  readonly stores: ReadonlyMap<string, Store>
  readonly keys: ReadonlyMap<Key, ShapeRecord>
}

const names = ['a', 'b', 'c'] as const

/** An identity of its own for each: the sources of a key do not change. */
const recordOf = (dice: Dice, identity = ''): ShapeRecord => {
  const text = `q${dice(0, 2)}`
  return {
    backend: names[dice(0, 2)]!,
    text: `shape of ${text}`,
    query: text,
    sources: names.slice(0, dice(0, 2)),
    knowsAllSources: dice(0, 3) > 0,
    lookbackMs: dice(0, 4) === 0 ? infinity : dice(0, 6) * 500,
    ...(dice(0, 2) === 0 && { lookaheadMs: dice(1, 6) * 500 }),
    grid: { kind: dice(0, 1) === 0 ? 'point' : 'cell', step: 1000, origin: dice(0, 9) * 100 },
    identity,
    headers: [],
  }
}

/** `a` and `b` share a far store, `c` has memory only, and the memory is that of all. */
async function someScene(dice: Dice): Promise<Scene> {
  const clock = fakeClock()
  const near = memory(clock)
  const far = rigDefaults.far?.(clock) ?? memory(clock)
  const tiered = tieredStore({ clock, near, far })
  const marks = new Marks({ clock, retentionMs })
  const stores = new Map([
    ['a', tiered],
    ['b', tiered],
    ['c', near],
  ])
  const keys = new Map<Key, ShapeRecord>()
  for (let i = dice(1, 8); i > 0; i--) {
    const shape = recordOf(dice, `${i}`)
    const key = keyOf({ ...shape, shape: shape.text })
    keys.set(key, shape)
    for (let writes = dice(1, 3); writes > 0; writes--) {
      const from = clock.now() / 1000 - dice(0, 60)
      const interval = { from, to: from + dice(1, 30) }
      const pane = paneOfFetch({ interval, fetchedAt: clock.now() - dice(0, 40), notes: [], columns: [] })
      // Data that memory had to evict is in the far store only.
      if (shape.backend !== 'c' && dice(0, 1) === 0) await far.write(key, { pane, shape })
      else await near.write(key, { pane, shape })
    }
  }
  const purge = new Purge(clock, [
    { backend: 'a', store: tiered, marks },
    { backend: 'b', store: tiered, marks },
    { backend: 'c', store: near, marks: new Marks({ clock, retentionMs }) },
  ])
  return { clock, purge, stores, keys }
}

function someSelection(dice: Dice, { clock, keys }: Scene): Selection {
  const from = clock.now() - dice(0, 90) * 700
  const shapes = [...keys].flatMap(([key, { text, query }]) => [key, text, query])
  return {
    ...(dice(0, 2) === 0 && { backend: names[dice(0, 2)]! }),
    ...(dice(0, 3) === 0 && { shape: shapes[dice(0, 255) % shapes.length]! }),
    ...(dice(0, 2) === 0 && { source: names[dice(0, 2)]! }),
    ...(dice(0, 1) === 0 && { from }),
    ...(dice(0, 1) === 0 && { to: from + dice(1, 40) * 700 }),
  }
}

/** The rule in words: selected, and computed from data of that time. */
function isMeant(selection: Selection, key: Key, record: ShapeRecord): (bucket: number) => boolean {
  const { backend = record.backend, shape = key, source, from = -infinity, to = infinity } = selection
  const isNamed = backend === record.backend && [key, record.text, record.query].includes(shape)
  const isRead = source === undefined || !record.knowsAllSources || record.sources.includes(source)
  const { grid, lookbackMs, lookaheadMs = 0 } = record
  const data = { from, to, lookbackMs, lookaheadMs }
  return (bucket) => isNamed && isRead && (lookbackMs === infinity || isComputedFrom(grid, bucket, data))
}

function isComputedFrom(
  grid: Grid,
  bucket: number,
  data: { from: number; to: number; lookbackMs: number; lookaheadMs: number },
): boolean {
  const end = endOf(grid, bucket) + data.lookaheadMs
  const isBehind = grid.kind === 'point' ? end >= data.from : end > data.from
  return isBehind && startOf(grid, bucket) - data.lookbackMs < data.to
}

/** Every stored bucket with its clock. */
async function contents({ stores, keys }: Scene): Promise<Map<string, number>> {
  const all = new Map<string, number>()
  for (const [key, { backend }] of keys) {
    for (const pane of (await peekInto(stores.get(backend)!, key, always))?.panes ?? []) {
      for (let bucket = pane.from; bucket < pane.to; bucket++)
        all.set(`${key} ${bucket}`, clockOf(pane, bucket))
    }
  }
  return all
}

test('a dry run has the counts of a run: selected buckets, each once, without purged ones', async () => {
  const throws = fc.uint8Array({ minLength: 100, maxLength: 200, size: 'max' })
  let counted = 0
  await fc.assert(
    fc.asyncProperty(throws, async (bytes) => {
      const dice = diceOf(bytes)
      const scene = await someScene(dice)
      const gone = new Set<string>()
      for (let round = 0; round < 3; round++) {
        const selection = someSelection(dice, scene)
        const before = await contents(scene)
        const meant = new Map<string, number>()
        for (const [name] of before) {
          const [key, bucket] = name.split(' ') as [Key, string]
          const record = scene.keys.get(key)!
          if (gone.has(name) || !isMeant(selection, key, record)(Number(bucket))) continue
          meant.set(key, (meant.get(key) ?? 0) + 1)
          gone.add(name)
        }
        const dry = await scene.purge.count(selection)
        const run = await scene.purge.run(selection)
        const { isKept, ...report } = run
        assert.deepEqual(report, dry)
        assert.ok(isKept)
        const expected = [...meant.values()].reduce((a, b) => a + b, 0)
        assert.deepEqual([dry.shapes, dry.buckets], [meant.size, expected])
        for (const { key, buckets } of dry.examples) assert.equal(buckets, meant.get(key))
        counted += expected
        // Sometimes the next one comes before the housekeeping, sometimes after.
        if (dice(0, 1) === 0) {
          await scene.purge.idle()
          assert.deepEqual(
            new Set((await contents(scene)).keys()),
            new Set([...before.keys()].filter((name) => !gone.has(name))),
          )
        }
        assert.equal((await scene.purge.count(selection)).buckets, 0)
      }
    }),
    { numRuns: 300 },
  )
  assert.ok(counted > 5000, `only ${counted} buckets were purged at all`)
})

const shape = recordOf(() => 0)
const entry = (from: number, to: number, fetchedAt: number, record = shape) => ({
  pane: paneOfFetch({ interval: { from, to }, fetchedAt, notes: [], columns: [] }),
  shape: record,
})

function simple(wrap: (store: Store) => Store = (store) => store) {
  const clock = fakeClock()
  const store = memory(clock)
  const target = { backend: 'a', store: wrap(store), marks: new Marks({ clock, retentionMs }) }
  return { clock, store, purge: new Purge(clock, [target]) }
}

test('the housekeeping does not touch buckets fetched after the purge', async () => {
  const { clock, store, purge } = simple((inner) =>
    storeWith(inner, {
      remove(key, interval, fetchedUntil) {
        // First it is counted, then it is removed: a request came in between.
        inner.write(key, entry(5, 15, clock.now() + 1))
        return inner.remove(key, interval, fetchedUntil)
      },
    }),
  )
  store.write('key', entry(0, 10, clock.now()))
  assert.equal((await purge.run({})).buckets, 10)
  await purge.idle()
  const { panes } = (await store.read('key', always))!
  assert.deepEqual(
    panes.map(({ from, to }) => [from, to]),
    [[5, 15]],
  )
})

test('a whole key goes with its record, a part of it does not', async () => {
  const { clock, store, purge } = simple()
  const record = { ...shape, lookbackMs: 0 }
  store.write('key', entry(0, 10, clock.now(), record))
  await purge.run({ from: 3000, to: 4500 })
  await purge.idle()
  const { panes } = (await store.read('key', always))!
  assert.deepEqual(
    panes.map(({ from, to }) => [from, to]),
    [
      [0, 3],
      [5, 10],
    ],
  )
  await purge.run({ backend: 'a' })
  await purge.idle()
  assert.equal(store.read('key', always), undefined)
})

test('closing does not wait for its turn, and leaves the rest to the mark', async () => {
  const still = fakeClock()
  let elapsed = 0
  const clock: FakeClock = { ...still, elapsed: () => ++elapsed, after: () => ({ cancel() {} }) }
  const store = memory(still)
  for (let i = 0; i < 1000; i++) store.write(`key${i}`, entry(0, 1, still.now()))
  const marks = new Marks({ clock: still, retentionMs })
  const purge = new Purge(clock, [{ backend: 'a', store, marks }])
  const running = purge.run({})
  await still.advance(0)
  await purge.close()
  assert.ok((await running).shapes < 1000)
  assert.equal(marks.list().length, 1)
})

test('examples are the ten largest', async () => {
  const { clock, store, purge } = simple()
  for (let i = 1; i <= 25; i++) store.write(`key${i}`, entry(0, i, clock.now()))
  const { examples, shapes, buckets } = await purge.count({})
  assert.deepEqual([shapes, buckets], [25, 325])
  assert.deepEqual(
    examples.map(({ buckets: each }) => each),
    [25, 24, 23, 22, 21, 20, 19, 18, 17, 16],
  )
  assert.deepEqual(examples[0], { key: 'key25', text: shape.text, backend: 'a', buckets: 25 })
})

test('a store that fails is not counted, and the mark holds all the same', async () => {
  const failing = (): never => assert.fail('broken')
  const { purge } = simple((store) => ({
    ...{
      name: 'failing',
      record: failing,
      read: failing,
      peek: failing,
      remove: failing,
      shapes: failing,
      close() {},
    },
    write: (key, written) => store.write(key, written),
  }))
  assert.equal((await purge.run({})).buckets, 0)
  assert.equal(purge.marks().length, 1)
  await purge.idle()
})

test('many shapes: others have their turn', async () => {
  const real = fakeClock()
  let elapsed = 0
  let turns = 0
  // Every look at the time takes a millisecond.
  const clock: FakeClock = {
    ...real,
    elapsed: () => ++elapsed,
    after(_delay, action) {
      turns++
      queueMicrotask(action)
      return { cancel() {} }
    },
  }
  const store = memory(real)
  for (let i = 0; i < 1000; i++) store.write(`key${i}`, entry(0, 1, real.now()))
  const purge = new Purge(clock, [{ backend: 'a', store, marks: new Marks({ clock: real, retentionMs }) }])
  assert.equal((await purge.run({})).shapes, 1000)
  assert.ok(turns >= 80, `only ${turns} turns`)
  await purge.idle()
  assert.deepEqual([...(store.shapes() as Iterable<unknown>)], [])
})
