import { Budget } from '../../core/budget.ts'
import { testStore } from '../../testing/test-store.ts'
import { memoryStore } from './index.ts'

const retentionMs = 3_600_000

testStore({
  name: 'memory',
  capabilities: { retentionMs },
  create: ({ clock }) =>
    memoryStore({ clock, retentionMs, budget: new Budget(64 * 1024 * 1024), maxBucketsPerShape: 10_000 }),
})
