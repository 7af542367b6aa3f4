/** The memory of this process as a kind of store. */
import { section } from '../../config/definition.ts'
import { Budget } from '../../core/budget.ts'
import type { StoreKind } from '../kind.ts'

export const memoryKind: StoreKind = {
  schemes: ['memory'],
  urlForm: 'memory:',
  section: section({}),
  readUrl: ({ place }) =>
    /^(\/\/)?$/.test(place)
      ? {}
      : { refused: 'names a place, and memory has none: expected memory:', suggestion: 'memory:' },
  isFar: false,
  capabilities: { cells: true, ttl: 'none', pubsub: false },
  timeoutMs: 250,
  examine: async () => [
    { status: 'ok', sentence: 'Buckets are kept in memory only: a restart begins without them.' },
  ],
  inspect: async () => ({ version: process.version, missing: [] }),
  async open(_, { clock, memoryBytes, ...rules }) {
    const [{ memoryStore }, { memoryCells }] = await Promise.all([import('./index.ts'), import('./cells.ts')])
    const panes = memoryStore({ clock, budget: new Budget(memoryBytes), ...rules })
    const cells = memoryCells({ clock })
    return {
      panes,
      cells,
      async close() {
        await panes.close()
        await cells.close()
      },
    }
  },
}
