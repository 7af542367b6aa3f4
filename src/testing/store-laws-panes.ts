/** Laws of a store about buckets; see test-store.ts. */
import assert from 'node:assert/strict'
import type { Interval } from '../core/interval.ts'
import { type Key, keyOf } from '../core/key.ts'
import { clockOf, type Pane, slice } from '../core/pane.ts'
import { join } from '../core/pane-join.ts'
import type { ShapeRecord, Store } from '../stores/store.ts'
import {
  type Dice,
  type FetchModel,
  modelOf,
  modelOfFetch,
  newestWins,
  type PaneModel,
  paneOfFetch,
  randomFetch,
  restrict,
  unite,
} from './pane-model.ts'
import { seededRandom, wholeNumber } from './random.ts'
import type { StoreContext, StoreLaw } from './test-store.ts'

export const shapeOf = (text: string): ShapeRecord => ({
  backend: 'test',
  text,
  query: text,
  sources: [text],
  knowsAllSources: true,
  lookbackMs: 300_000,
  grid: { kind: 'point', step: 1000, origin: 0 },
  identity: '',
  headers: ['content-type', 'text/plain'],
})

export const keyOfShape = (shape: ShapeRecord): Key =>
  keyOf({ backend: shape.backend, identity: shape.identity, shape: shape.text, grid: shape.grid })

const shape = shapeOf('up')
const key = keyOfShape(shape)
const always: Interval = { from: -1e9, to: 1e9 }

const diceWith = (seed: number): Dice => {
  const random = seededRandom(seed)
  return (min, max) => wholeNumber(random, min, max)
}

const fetchOf = (interval: Interval, fetchedAt: number): FetchModel =>
  randomFetch(diceWith(interval.from * 31 + interval.to + fetchedAt), { interval, fetchedAt })

const write = async (store: Store, pane: Pane): Promise<void> => {
  assert.ok(await store.write(key, { pane, shape }), 'a small pane was not kept')
}

/** The panes of an interval; every read of a store is checked here. */
async function read(store: Store, interval: Interval = always): Promise<readonly Pane[]> {
  const panes = (await store.read(key, interval))?.panes ?? []
  let next = interval.from
  for (const pane of panes) {
    assert.ok(pane.from >= next && pane.from < pane.to, 'not in order, not disjoint or empty')
    next = pane.to
  }
  assert.ok(next <= interval.to, 'outside the requested interval')
  return panes
}

const readModel = async (store: Store, interval?: Interval): Promise<PaneModel> =>
  unite((await read(store, interval)).map(modelOf))

/** Without buckets, a store need not know the frame. */
function assertSameBuckets(actual: PaneModel, { frame: _, ...expected }: PaneModel): void {
  const { frame: __, ...buckets } = actual
  assert.deepEqual(buckets, expected)
}

/** Fetches of one key with clocks of their own before `now`, in the order in which they are written. */
function someWrites(dice: Dice, now: number): FetchModel[] {
  const clocks = Array.from({ length: dice(1, 9) }, (_, i) => now - 1000 * (i + 1))
  return clocks
    .map((fetchedAt) => ({ fetchedAt, order: dice(0, 99) }))
    .sort((a, b) => a.order - b.order)
    .map(({ fetchedAt }) => {
      const from = dice(0, 40) - 8
      return randomFetch(dice, { interval: { from, to: from + dice(1, 16) }, fetchedAt })
    })
}

async function forRandomHistories(
  context: StoreContext,
  check: (store: Store, writes: readonly FetchModel[], dice: Dice) => Promise<void>,
): Promise<void> {
  for (let seed = 1; seed <= (context.capabilities.rounds ?? 40); seed++) {
    const dice = diceWith(seed)
    const writes = someWrites(dice, context.start)
    const store = await context.another()
    for (const fetch of writes) await write(store, paneOfFetch(fetch))
    await check(store, writes, dice).catch((cause: unknown) => {
      throw new Error(`in the history of seed ${seed}`, { cause })
    })
  }
}

export const paneLaws: Readonly<Record<string, StoreLaw>> = {
  async 'a key that was never written is unknown'({ store }) {
    assert.equal(await store.read(key, always), undefined)
    assert.equal(await store.remove(key), 0)
    assert.equal(await store.remove(key, { from: 0, to: 5 }), 0)
  },

  async 'a read returns the written bytes'({ store, start }) {
    const pane = paneOfFetch(fetchOf({ from: 3, to: 40 }, start))
    await write(store, pane)
    const found = await read(store)
    assert.deepEqual(unite(found.map(modelOf)), modelOf(pane))
    assert.ok(join(found).body.bytes.equals(join([pane]).body.bytes))
  },

  async 'a slice is stored without the rest of its body'({ store, start }) {
    const fetch = fetchOf({ from: 0, to: 20 }, start)
    await write(store, slice(paneOfFetch(fetch), { from: 5, to: 9 }))
    assert.deepEqual(
      await readModel(store),
      restrict(modelOfFetch(fetch), (bucket) => bucket >= 5 && bucket < 9),
    )
  },

  async 'a read is clipped to its interval, in order and disjoint'(context) {
    await forRandomHistories(context, async (store, writes, dice) => {
      for (let i = 0; i < 8; i++) {
        const from = dice(0, 60) - 15
        const interval = { from, to: from + dice(0, 30) }
        const inside = (bucket: number) => bucket >= from && bucket < interval.to
        assertSameBuckets(await readModel(store, interval), restrict(newestWins(writes), inside))
      }
    })
  },

  async 'a peek returns the result of a read'(context) {
    await forRandomHistories(context, async (store, _writes, dice) => {
      if (store.peek === undefined) return
      const from = dice(0, 30) - 10
      const interval = { from, to: from + dice(0, 40) }
      const peeked = await store.peek(key, interval)
      assert.deepEqual(unite((peeked?.panes ?? []).map(modelOf)), await readModel(store, interval))
      assert.deepEqual(peeked?.shape, shape)
    })
    assert.equal(await context.store.peek?.(key, always), undefined)
  },

  async 'per bucket the newer fetch wins, whatever the order of writes'(context) {
    await forRandomHistories(context, async (store, writes) => {
      assert.deepEqual(await readModel(store), newestWins(writes))
    })
  },

  async 'an older fetch never overwrites a newer one'({ store, start }) {
    const newer = fetchOf({ from: 0, to: 10 }, start)
    await write(store, paneOfFetch(newer))
    await write(store, paneOfFetch(fetchOf({ from: 2, to: 8 }, start - 1)))
    assert.deepEqual(await readModel(store), modelOfFetch(newer))
  },

  async 'known-empty buckets are kept'({ store, start }) {
    const empty: FetchModel = { interval: { from: 0, to: 5 }, fetchedAt: start, notes: [], columns: [] }
    await write(store, paneOfFetch(empty))
    assert.deepEqual(await readModel(store), modelOfFetch(empty))
  },

  async 'a newer, empty bucket takes the older one’s bytes away'({ store, start }) {
    const full = fetchOf({ from: 0, to: 10 }, start - 1)
    const empty: FetchModel = { interval: { from: 4, to: 6 }, fetchedAt: start, notes: [], columns: [] }
    await write(store, paneOfFetch(full))
    await write(store, paneOfFetch(empty))
    assert.deepEqual(await readModel(store), newestWins([full, empty]))
  },

  async 'absent buckets of a pane are not stored and replace nothing'({ store, start }) {
    const parts = [fetchOf({ from: 0, to: 4 }, start), fetchOf({ from: 9, to: 12 }, start)]
    const below = fetchOf({ from: 2, to: 6 }, start - 1)
    await write(store, paneOfFetch(below))
    await write(store, join(parts.map(paneOfFetch)))
    assert.deepEqual(await readModel(store), newestWins([below, ...parts]))
    assert.equal(await store.remove(key), 9)
  },

  async 'a removed interval is gone, the rest stays, and the buckets are counted'(context) {
    await forRandomHistories(context, async (store, writes, dice) => {
      const before = await readModel(store)
      const from = dice(0, 40) - 10
      const interval = { from, to: from + dice(0, 15) }
      const after = restrict(before, (bucket) => bucket < from || bucket >= interval.to)
      assert.equal(await store.remove(key, interval), before.clocks.size - after.clocks.size)
      assertSameBuckets(await readModel(store), after)
      if (context.capabilities.removalsHideOlder) return
      // A removed bucket can be written again, even with an older clock.
      const again = { ...writes[0]!, fetchedAt: context.start - 1_000_000 }
      await write(store, paneOfFetch(again))
      const { clocks } = await readModel(store)
      for (let bucket = again.interval.from; bucket < again.interval.to; bucket++)
        assert.ok(clocks.has(bucket))
    })
  },

  async 'with an instant, only buckets fetched until then are removed'(context) {
    await forRandomHistories(context, async (store, _writes, dice) => {
      const before = await readModel(store)
      const clocks = [...before.clocks.values()]
      const instant = clocks[dice(0, clocks.length - 1)] ?? context.start
      const from = dice(0, 40) - 10
      const interval = dice(0, 2) === 0 ? undefined : { from, to: from + dice(0, 15) }
      const after = restrict(before, (bucket) => {
        const isInside = interval === undefined || (bucket >= from && bucket < interval.to)
        return !isInside || before.clocks.get(bucket)! > instant
      })
      assert.equal(await store.remove(key, interval, instant), before.clocks.size - after.clocks.size)
      assertSameBuckets(await readModel(store), after)
    })
  },

  async 'a removed key is gone, and its buckets are counted'({ store, start }) {
    await write(store, paneOfFetch(fetchOf({ from: 0, to: 7 }, start)))
    await write(store, paneOfFetch(fetchOf({ from: 20, to: 25 }, start)))
    assert.equal(await store.remove(key), 12)
    assert.deepEqual(await read(store), [])
    assert.equal(await store.remove(key), 0)
  },

  async 'of two frames the older counts as absent'({ start, another }) {
    for (const order of [
      [0, 1, 2],
      [0, 2, 1],
      [2, 0, 1],
      [1, 2, 0],
    ]) {
      const store = await another()
      const writes = [
        { ...fetchOf({ from: 0, to: 10 }, start - 3), frame: 'time,old' },
        { ...fetchOf({ from: 12, to: 15 }, start - 2), frame: 'time,old' },
        { ...fetchOf({ from: 5, to: 14 }, start - 1), frame: 'time,new' },
      ]
      for (const i of order) await store.write(key, { pane: paneOfFetch(writes[i]!), shape })
      assert.deepEqual(await readModel(store), modelOfFetch(writes[2]!), `written in order ${order}`)
    }
  },

  async 'bucket numbers may be negative and large'({ store, start }) {
    const writes = [-70_000, -3, 1_767_225_600].map((from) => fetchOf({ from, to: from + 5 }, start))
    for (const fetch of writes) await write(store, paneOfFetch(fetch))
    const wide = { from: -1e12, to: 1e12 }
    assert.deepEqual(await readModel(store, wide), newestWins(writes))
  },

  async 'a rolling window of many steps is read as it was last written'({ store, start }) {
    const last = new Map<number, number>()
    for (let step = 0; step < 300; step++) {
      const interval = { from: step, to: step + 12 }
      await write(store, paneOfFetch({ interval, fetchedAt: start + step, notes: [], columns: [] }))
      for (let bucket = interval.from; bucket < interval.to; bucket++) last.set(bucket, start + step)
    }
    const panes = await read(store)
    for (const [bucket, clock] of last) {
      const pane = panes.find(({ from, to }) => from <= bucket && bucket < to)
      assert.equal(pane && clockOf(pane, bucket), clock, `bucket ${bucket}`)
    }
  },

  async 'clocks come back exactly, fractions included'({ store, start }) {
    for (const [bucket, fraction] of [1 / 2048, 0.5, 2047 / 2048].entries()) {
      const interval = { from: bucket, to: bucket + 1 }
      await write(store, paneOfFetch({ interval, fetchedAt: start - fraction, notes: [], columns: [] }))
      const [pane] = (await read(store)).filter(({ from, to }) => from <= bucket && bucket < to)
      assert.equal(pane && clockOf(pane, bucket), start - fraction)
    }
  },

  async 'a bucket is kept for the promised time'({ store, start, clock, capabilities }) {
    if (capabilities.retentionMs === undefined) return
    const old = fetchOf({ from: 5, to: 6 }, start)
    await write(store, paneOfFetch(old))
    await clock.advance(capabilities.retentionMs - 2)
    const young = fetchOf({ from: 0, to: 5 }, clock.now())
    await write(store, paneOfFetch(young))
    assert.deepEqual(await readModel(store), newestWins([old, young]))
    // The bucket next to it has lapsed: this one has not.
    await clock.advance(capabilities.retentionMs - 2)
    await write(store, paneOfFetch(fetchOf({ from: 100, to: 101 }, clock.now())))
    assert.deepEqual((await readModel(store, { from: 0, to: 5 })).clocks, modelOfFetch(young).clocks)
  },
}
