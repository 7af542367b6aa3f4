import { Budget } from '../../src/core/budget.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { tieredStore } from '../../src/stores/tiered.ts'
import { testStore } from '../../src/testing/test-store.ts'
import { scratchStore } from './scratch.ts'

const retentionMs = 3_600_000

testStore({
  name: 'memory in front of lmdb',
  capabilities: { retentionMs, rounds: 15 },
  async create({ clock }) {
    const near = memoryStore({
      clock,
      retentionMs,
      budget: new Budget(64 * 1024 * 1024),
      maxBucketsPerShape: 10_000,
    })
    return tieredStore({ clock, near, far: await scratchStore({ clock, retentionMs }) })
  },
})
