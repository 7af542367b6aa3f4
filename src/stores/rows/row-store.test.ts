import { MemoryCellEngine, MemoryRowEngine } from '../../testing/memory-engines.ts'
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
