import { testStore } from '../../src/testing/test-store.ts'
import { scratchStore } from './scratch.ts'

testStore({
  name: 'lmdb',
  capabilities: { retentionMs: 3_600_000 },
  create: ({ clock }) => scratchStore({ clock, retentionMs: 3_600_000 }),
})
