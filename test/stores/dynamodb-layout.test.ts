/**
 * The content of the tables: pages, long values, slices, and attributes that a reader without this program understands.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import type { Interval } from '../../src/core/interval.ts'
import { slicePartition } from '../../src/stores/dynamodb/keys.ts'
import type { RowWrite, StoredRow } from '../../src/stores/rows/row-engine.ts'
import { enginesOn, hourMs, withDynamoDb } from './dynamodb-rig.ts'
import { entryOf, keyNumber } from './truth.ts'

const everything: Interval = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }
const write = (now: number, changes: Partial<RowWrite>): RowWrite => ({
  ...{ put: [], drop: [], now, retentionMs: hourMs },
  ...changes,
})

await withDynamoDb('layout', ({ api, table, open }) => {
  const { rows } = enginesOn(api, table)
  const now = systemClock.now()
  const row = (from: number, value: Buffer, clock = now): StoredRow => ({ from, buckets: 1, clock, value })

  test('a query whose pages end at 1 MB is read to its end, in order', async () => {
    const put = Array.from({ length: 12 }, (_, from) => row(from, randomBytes(300 * 1024)))
    await rows.write('pages', write(now, { put }))
    const page = await api.query({
      TableName: table,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: slicePartition(`${table}/pages`, 0) } },
    })
    assert.ok(page.LastEvaluatedKey, 'all rows fit into one page: the test tests nothing')
    assert.deepEqual((await rows.read('pages', { from: 1, to: 12 })).rows, put.slice(1))
  })

  test('a value that is longer than an item comes back whole, and is absent where a part is lost', async () => {
    const put = [
      row(0, randomBytes(1_000_000)),
      row(1, Buffer.from('short')),
      row(2, randomBytes(400 * 1024)),
    ]
    const record = { value: randomBytes(500 * 1024), clock: now }
    await rows.write('long', write(now, { put, record }))
    const stored = await rows.read('long', everything)
    assert.deepEqual(stored, { record: record.value, stamp: undefined, rows: put })
    const longRows = slicePartition(`${table}/long`, 0)
    const head = await api.query(partitionOf(longRows))
    const set = head.Items?.[0]?.['set']?.S
    assert.ok(set)
    await api.deleteItem({ TableName: table, Key: keyOf(`${longRows}#${set}`, '0001') })
    assert.deepEqual((await rows.read('long', everything)).rows, put.slice(1))
  })

  test('a long value is replaced by the newer one only, and its parts never mix', async () => {
    const [older, newer] = [row(0, randomBytes(900_000), now - 5), row(0, randomBytes(700_000), now)]
    for (const one of [older, newer, older]) await rows.write('replaced', write(now, { put: [one] }))
    assert.deepEqual((await rows.read('replaced', everything)).rows, [newer])
    await rows.write('replaced', write(now, { drop: [newer] }))
    await rows.write('replaced', write(now, { put: [older] }))
    assert.deepEqual((await rows.read('replaced', everything)).rows, [older])
  })

  test('rows of many slices are read in order, by a bounded and an unbounded interval', async () => {
    const put = [-100_000, -513, -1, 0, 511, 512, 5000, 90_000, 2 ** 40].map((from) =>
      row(from, Buffer.from(String(from))),
    )
    await rows.write('wide', write(now, { put }))
    const found = async (range: Interval) => (await rows.read('wide', range)).rows.map(({ from }) => from)
    assert.deepEqual(
      await found(everything),
      put.map(({ from }) => from),
    )
    assert.deepEqual(await found({ from: -513, to: 512 }), [-513, -1, 0, 511])
    assert.deepEqual(await found({ from: -513, to: 90_000 }), [-513, -1, 0, 511, 512, 5000])
    const partitions = await Promise.all(
      [-2, -1, 0, 1].map((slice) => api.query(partitionOf(slicePartition(`${table}/wide`, slice)))),
    )
    assert.deepEqual(
      partitions.map(({ Count }) => Count),
      [1, 1, 2, 1],
    )
  })

  test('ttl is a number of whole seconds that is not before the end of the retention', async () => {
    const clock = Math.floor(now / 1000) * 1000 + 0.25
    await rows.write('ttl', write(now, { put: [row(0, Buffer.from('x'), clock)] }))
    const { Items = [] } = await api.query(partitionOf(slicePartition(`${table}/ttl`, 0)))
    assert.deepEqual(Items[0]?.['ttl'], { N: String((clock - 0.25 + hourMs) / 1000 + 1) })
    assert.deepEqual(Items[0]?.['c'], { N: String(clock) })
  })

  test('records are listed from partitions of their own', async () => {
    const store = await open({ prefix: 'listed/' })
    for (let i = 0; i < 40; i++) await store.panes.write(keyNumber(i), entryOf(i, { from: 0, to: 2 }, now))
    const keys = new Set<string>()
    for await (const [key] of store.panes.shapes()) keys.add(key)
    assert.equal(keys.size, 40)
    const shards = await Promise.all(
      Array.from({ length: 16 }, (_, shard) => api.query(partitionOf(`listed/shapes#${shard}`))),
    )
    const counts = shards.map(({ Count = 0 }) => Count)
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      40,
    )
    assert.ok(counts.filter((count) => count > 0).length > 8, `they do not spread: ${counts}`)
    await store.close()
  })

  test('a cell is understood by any client: its members and attributes are attributes of the item', async () => {
    const { cells, close } = await open({ prefix: '' })
    const collectAt = Math.ceil(now / 1000) + 60
    const put = await cells.put(
      { pk: 'T#acme#Q#1', sk: 'META' },
      {
        kind: 'object',
        v: 3,
        clocks: { freshUntil: now + 1000, staleUntil: now + 2000.5 },
        collectAt,
        value: Buffer.from('body'),
        attributes: { generated_at: 1_767_225_600, revalidate_seconds: 60, etag: '"abc"' },
      },
      { is: 'absent' },
    )
    assert.ok(put.ok)
    const { Item } = await api.getItem({
      TableName: `${table}-cells`,
      Key: { pk: { S: 'T#acme#Q#1' }, sk: { S: 'META' } },
    })
    assert.deepEqual(Item, {
      pk: { S: 'T#acme#Q#1' },
      sk: { S: 'META' },
      kind: { S: 'object' },
      v: { N: '3' },
      rev: { S: put.rev },
      value: { B: new Uint8Array(Buffer.from('body')) },
      fresh_until: { N: String(now + 1000) },
      stale_until: { N: String(now + 2000.5) },
      ttl: { N: String(collectAt) },
      generated_at: { N: '1767225600' },
      revalidate_seconds: { N: '60' },
      etag: { S: '"abc"' },
    })
    await close()
  })

  function partitionOf(pk: string) {
    return {
      TableName: table,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: pk } },
    }
  }

  const keyOf = (pk: string, sk: string) => ({ pk: { S: pk }, sk: { B: Buffer.from(sk, 'hex') } })
})
