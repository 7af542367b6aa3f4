/** Laws of a store about keys, their records and its end; see test-store.ts. */
import assert from 'node:assert/strict'
import { calendarGrid } from '../core/grid.ts'
import type { ShapeRecord, Store } from '../stores/store.ts'
import { modelOf, modelOfFetch, paneOfFetch, unite } from './pane-model.ts'
import { keyOfShape, shapeOf } from './store-laws-panes.ts'
import type { StoreLaw } from './test-store.ts'

const interval = { from: 0, to: 3 }

/** A pane that contains the name of its shape. */
const fetchFor = (text: string, fetchedAt: number) => ({
  interval,
  fetchedAt,
  notes: [],
  columns: [
    [text, { head: `{${text}}`, lanes: [new Map([[1, `${text},`]]), new Map<number, string>()] }],
  ] as const,
})

const write = async (store: Store, shape: ShapeRecord, fetchedAt: number): Promise<void> => {
  const pane = paneOfFetch(fetchFor(shape.text, fetchedAt))
  assert.ok(await store.write(keyOfShape(shape), { pane, shape }), 'a small pane was not kept')
}

async function listed(store: Store): Promise<Map<string, ShapeRecord>> {
  const records = new Map<string, ShapeRecord>()
  for await (const [key, record] of store.shapes()) {
    assert.ok(!records.has(key), 'a key is listed twice')
    records.set(key, record)
  }
  return records
}

export const recordLaws: Readonly<Record<string, StoreLaw>> = {
  async 'keys do not see each other'({ store, start }) {
    const shapes = Array.from({ length: 200 }, (_, i) => shapeOf(`metric_${i}`))
    for (const shape of shapes) await write(store, shape, start)
    await store.remove(keyOfShape(shapes[7]!))
    for (const shape of shapes) {
      const found = await store.read(keyOfShape(shape), interval)
      const { columns } = unite((found?.panes ?? []).map(modelOf))
      const expected = shape === shapes[7] ? new Map() : modelOfFetch(fetchFor(shape.text, start)).columns
      assert.deepEqual(columns, expected)
    }
  },

  async 'a record comes with the panes of its key'({ store, start }) {
    const shape: ShapeRecord = {
      backend: 'prometheus',
      text: 'sum by (é) (rate(x[5m]))\n# "quoted" \u0000 😀',
      query: 'sum by (é) (rate(x[5m]))',
      sources: ['x', 'y'],
      knowsAllSources: false,
      lookbackMs: Number.POSITIVE_INFINITY,
      grid: { kind: 'cell', step: 15_000, origin: 4_321 },
      identity: 'team a',
      headers: ['content-type', 'application/json', 'vary', 'accept'],
    }
    const weeks = { unit: 'day', count: 7, zone: 'America/New_York', origin: 345_600_000 } as const
    const local: ShapeRecord = { ...shape, grid: calendarGrid(weeks)! }
    for (const each of [shape, local]) {
      await write(store, each, start)
      assert.deepEqual((await store.read(keyOfShape(each), interval))?.shape, each)
    }
    assert.deepEqual(await listed(store), new Map([shape, local].map((each) => [keyOfShape(each), each])))
  },

  async 'the last record written is the one that is kept'({ store, start }) {
    const shape = shapeOf('up')
    const later = { ...shape, sources: [], headers: ['content-type', 'application/json'] }
    await write(store, shape, start)
    await write(store, later, start + 1)
    assert.deepEqual((await store.read(keyOfShape(shape), interval))?.shape, later)
    assert.deepEqual([...(await listed(store)).values()], [later])
  },

  async 'every key is listed with its record, and a removed one is not'({ store, start }) {
    const shapes = Array.from({ length: 50 }, (_, i) => shapeOf(`metric_${i}`))
    for (const shape of shapes) await write(store, shape, start)
    await store.remove(keyOfShape(shapes[3]!))
    const expected = shapes.filter((shape) => shape !== shapes[3])
    assert.deepEqual(await listed(store), new Map(expected.map((shape) => [keyOfShape(shape), shape])))
  },

  async 'keys that are used while they are listed come once'({ store, start }) {
    const shapes = Array.from({ length: 600 }, (_, i) => shapeOf(`metric_${i}`))
    for (const shape of shapes) await write(store, shape, start)
    let count = 0
    for await (const [key] of store.shapes()) {
      if (++count > shapes.length) break
      await store.read(key, interval)
    }
    assert.equal(count, shapes.length)
  },

  async 'a record outlives the removal of a part of its buckets'({ store, start }) {
    const shape = shapeOf('up')
    await write(store, shape, start)
    await store.remove(keyOfShape(shape), { from: 0, to: 1 })
    assert.deepEqual((await store.read(keyOfShape(shape), interval))?.shape, shape)
  },

  async 'a closed store returns nothing, and it may be closed twice'({ store, start }) {
    const shape = shapeOf('up')
    await write(store, shape, start)
    await store.close()
    const read = async () => await store.read(keyOfShape(shape), interval)
    assert.deepEqual((await read().catch(() => undefined))?.panes ?? [], [])
    await store.close()
  },
}
