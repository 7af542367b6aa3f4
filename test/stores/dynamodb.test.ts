import { testObjects } from '../../src/testing/test-objects.ts'
import { type CellLaws, testCells, testStore } from '../../src/testing/test-store.ts'
import { hourMs, withDynamoDb } from './dynamodb-rig.ts'
import { testEvidence } from './evidence-laws.ts'

await withDynamoDb('laws', ({ open }) => {
  testStore({
    name: 'dynamodb',
    capabilities: { retentionMs: hourMs, rounds: 10 },
    create: async ({ clock }) => (await open({ clock })).panes,
  })

  const cellLaws: CellLaws = {
    name: 'dynamodb',
    rounds: 15,
    async create({ clock }) {
      const { cells, close } = await open({ clock })
      return { cells, end: close }
    },
  }
  testCells(cellLaws)
  testObjects(cellLaws)
  testEvidence(cellLaws)
})
