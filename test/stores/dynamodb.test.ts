import { testCells, testStore } from '../../src/testing/test-store.ts'
import { hourMs, withDynamoDb } from './dynamodb-rig.ts'

await withDynamoDb('laws', ({ open }) => {
  testStore({
    name: 'dynamodb',
    capabilities: { retentionMs: hourMs, rounds: 10 },
    create: async ({ clock }) => (await open({ clock })).panes,
  })

  testCells({
    name: 'dynamodb',
    rounds: 15,
    async create({ clock }) {
      const { cells, close } = await open({ clock })
      return { cells, end: close }
    },
  })
})
