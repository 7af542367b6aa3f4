/** The laws once more, where operations take their time and arrive in another order than they were sent. */
import { Budget } from '../../src/core/budget.ts'
import type { Clock } from '../../src/core/clock.ts'
import { guardedCells, StoreGuard } from '../../src/stores/guard.ts'
import { memoryCells } from '../../src/stores/memory/cells.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import type { Store } from '../../src/stores/store.ts'
import { tieredStore } from '../../src/stores/tiered.ts'
import { asynchronous } from '../../src/testing/asynchronous.ts'
import { mixSeeds, seededRandom } from '../../src/testing/random.ts'
import { testCells, testStore } from '../../src/testing/test-store.ts'
import { scratchStore } from './scratch.ts'

const retentionMs = 3_600_000

const memory = (clock: Clock): Store => {
  const budget = new Budget(64 * 1024 * 1024)
  const store = memoryStore({ clock, retentionMs, budget, maxBucketsPerShape: 10_000 })
  return Object.assign(store, { cells: memoryCells({ clock }) })
}

let stores = 0
/** Every store has dice of its own. */
const networked = (store: Store, clock: Clock): Store =>
  asynchronous(store, { clock, random: seededRandom(mixSeeds(7, stores++)) })

const lmdb = (clock: Clock): Promise<Store> => scratchStore({ clock, retentionMs })

testStore({
  name: 'memory, behind a network',
  capabilities: { retentionMs },
  create: ({ clock }) => networked(memory(clock), clock),
})
testStore({
  name: 'lmdb, behind a network',
  capabilities: { retentionMs, rounds: 15 },
  create: async ({ clock }) => networked(await lmdb(clock), clock),
})
testStore({
  name: 'memory in front of memory behind a network',
  capabilities: { retentionMs },
  create: ({ clock }) => tieredStore({ clock, near: memory(clock), far: networked(memory(clock), clock) }),
})
testCells({
  name: 'memory, behind a network and a guard',
  create({ clock }) {
    const { cells } = networked(memory(clock), clock)
    return { cells: guardedCells(cells!, new StoreGuard({ clock, timeoutMs: 250 })) }
  },
})
testCells({
  name: 'lmdb, behind a network',
  async create({ clock }) {
    const store = await lmdb(clock)
    return { cells: networked(store, clock).cells!, end: () => store.close() }
  },
})
