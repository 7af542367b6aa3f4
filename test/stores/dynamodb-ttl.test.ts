/** Two clocks: how readers judge items that should be deleted, and that DynamoDB does delete them in the end. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DynamoDB } from '@aws-sdk/client-dynamodb'
import { systemClock } from '../../src/core/clock.ts'
import { createTables, tablesOf } from '../../src/stores/dynamodb/tables.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { requireServer } from '../data/fixture.ts'
import { startDynamoDb } from '../servers/dynamodb/dynamodb.ts'
import { eventually } from '../wait.ts'
import { clientOf, hourMs, openStore, withDynamoDb } from './dynamodb-rig.ts'
import { entryOf, keyNumber } from './truth.ts'

const interval = { from: 0, to: 8 }
const id = { pk: 'p', sk: 's' }

await withDynamoDb('expiry', ({ api, endpoint }) => {
  test('an expired item is absent although it is still there, in tables that never delete', async () => {
    const [clock, keeping] = [fakeClock(systemClock.now()), 'keeping']
    for (const [TableName, AttributeType] of [
      [keeping, 'B'],
      [`${keeping}-cells`, 'S'],
    ] as const)
      await api.createTable({
        TableName,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
        AttributeDefinitions: [
          { AttributeName: 'pk', AttributeType: 'S' },
          { AttributeName: 'sk', AttributeType },
        ],
      })
    const store = await openStore({ endpoint, table: keeping, clock })
    await store.panes.write(keyNumber(1), entryOf(1, interval, clock.now()))
    const draft = { kind: 'k', v: 1, clocks: {}, value: Buffer.from('x') }
    const collectAt = Math.ceil((clock.now() + hourMs) / 1000)
    assert.ok((await store.cells.put(id, { ...draft, collectAt }, { is: 'absent' })).ok)
    const counts = [await countOf(api, keeping), await countOf(api, `${keeping}-cells`)]
    await clock.advance(hourMs - 1)
    assert.equal((await store.panes.read(keyNumber(1), interval))?.panes[0]?.to, 8)
    assert.equal((await store.cells.list('p', 1)).length, 1)
    await clock.advance(1001)
    assert.deepEqual((await store.panes.read(keyNumber(1), interval))?.panes ?? [], [])
    assert.deepEqual(await store.cells.list('p', 1), [])
    assert.deepEqual([await countOf(api, keeping), await countOf(api, `${keeping}-cells`)], counts)
    assert.ok((await store.cells.put(id, { ...draft, collectAt: collectAt + 60 }, { is: 'absent' })).ok)
    await store.close()
  })
})

/** A server of its own: one that many test files use has been seen to stop deleting. */
test('DynamoDB deletes expired items by itself', async (t) => {
  const server = requireServer(t, await startDynamoDb())
  if (server === null) return
  t.after(() => server.stop())
  const { endpoint } = server
  const api = clientOf(endpoint)
  await createTables(api, tablesOf('deleting'), systemClock)
  const store = await openStore({ endpoint, table: 'deleting', retentionMs: 5000 })
  assert.ok(await store.panes.write(keyNumber(1), entryOf(1, interval, systemClock.now())))
  const collectAt = Math.ceil(systemClock.now() / 1000) + 1
  const draft = { kind: 'k', v: 1, clocks: {}, collectAt, value: Buffer.from('x') }
  assert.ok((await store.cells.put(id, draft, { is: 'absent' })).ok)
  await eventually(
    async () => (await countOf(api, 'deleting')) + (await countOf(api, 'deleting-cells')),
    (count) => count === 0,
  )
  await store.close()
  api.destroy()
})

const countOf = async (api: DynamoDB, TableName: string): Promise<number> =>
  (await api.scan({ TableName, Select: 'COUNT', ConsistentRead: true })).Count!
