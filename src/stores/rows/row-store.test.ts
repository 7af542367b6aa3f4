import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryCellEngine, MemoryRowEngine } from '../../../test/rigs/memory-engines.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { draftOf } from '../../testing/store-laws-cells.ts'
import { testCells, testStore } from '../../testing/test-store.ts'
import { RowCells } from './row-cells.ts'
import { RowStore } from './row-store.ts'

const retentionMs = 24 * 3_600_000

testStore({
  name: 'rows',
  create: ({ clock }) => new RowStore({ engine: new MemoryRowEngine(), clock, retentionMs }),
  capabilities: { retentionMs },
})
testCells({
  name: 'rows',
  create: ({ clock }) => ({ cells: new RowCells(new MemoryCellEngine(), clock) }),
})

test('an operation that never ends holds up its partition for ten seconds, not for ever', async () => {
  const clock = fakeClock()
  const engine = new MemoryCellEngine()
  const cells = new RowCells(engine, clock)
  const id = { pk: 'p', sk: 'a' }
  const load = engine.load.bind(engine)
  engine.load = () => new Promise(() => {})
  void cells.put(id, draftOf('lost'), { is: 'absent' })
  engine.load = load
  const put = cells.put(id, draftOf('kept'), { is: 'absent' })
  await clock.advance(10_000)
  assert.ok((await put).ok)
})
