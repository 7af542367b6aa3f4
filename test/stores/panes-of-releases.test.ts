/**
 * Buckets as a release wrote them to a store behind a network (fixtures/panes-VERSION.json): this release reads them. After
 * a change of the layout, a new version of the keys keeps old and new rows apart; see `versionBytes`.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { endianness } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { RowStore } from '../../src/stores/rows/row-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { modelOf, paneOfFetch, unite } from '../../src/testing/pane-model.ts'
import { keyOfShape, shapeOf } from '../../src/testing/store-laws-panes.ts'
import { MemoryRowEngine, MemoryServer } from '../rigs/memory-engines.ts'

interface FixedValue {
  readonly clock: number
  readonly value: string
}

interface FixedKey {
  readonly key: string
  readonly record: FixedValue
  readonly stamp: FixedValue
  readonly rows: readonly (FixedValue & { readonly from: number; readonly buckets: number })[]
}

const clock = fakeClock()
const retentionMs = 86_400_000
const shape = shapeOf('up')
const interval = { from: 3, to: 24 }
const points = new Map(Array.from({ length: 21 }, (_, i) => [3 + i, `[${3 + i},"1.25"],`]))
const written = paneOfFetch({
  ...{ interval, fetchedAt: clock.now() - 0.5, notes: [] },
  columns: [['a', { head: '{a}', lanes: [points, new Map()] }]],
})

const bytesOf = <V extends FixedValue>(fixed: V): V & { value: Buffer } => ({
  ...fixed,
  value: Buffer.from(fixed.value, 'base64'),
})

const readFixture = async (): Promise<FixedKey> =>
  JSON.parse(await readFile(join(import.meta.dirname, 'fixtures/panes-0.1.0.json'), 'utf8'))

const options = { skip: endianness() === 'BE' && 'the fixture was written by a little-endian machine' }

test('buckets of the fixture are read', options, async () => {
  const { key, record, stamp, rows } = await readFixture()
  const engine = new MemoryRowEngine()
  await engine.write(key, {
    ...{ record: bytesOf(record), stamp: bytesOf(stamp), put: rows.map(bytesOf), drop: [] },
    ...{ now: clock.now(), retentionMs },
  })
  const found = await new RowStore({ engine, clock, retentionMs }).read(keyOfShape(shape), interval)
  assert.deepEqual(found?.shape, shape)
  assert.deepEqual(unite(found!.panes.map(modelOf)), modelOf(written))
})

test('this release writes them under the same keys and row ids', options, async () => {
  const server = new MemoryServer()
  const store = new RowStore({ engine: new MemoryRowEngine(server), clock, retentionMs })
  await store.write(keyOfShape(shape), { pane: written, shape })
  const { key, rows } = await readFixture()
  const ids = (all: readonly { from: number; buckets: number; clock: number }[]) =>
    all.map(({ from, buckets, clock: at }) => [from, buckets, at])
  assert.deepEqual([...server.keys.keys()], [key])
  assert.deepEqual(ids([...server.keys.get(key)!.rows.values()]), ids(rows))
})
