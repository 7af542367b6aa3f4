/** The laws of stores and cells on Valkey, which has a lifetime per hash field, and on Redis 7.0, which has not. */
import { describe } from 'node:test'
import { testObjects } from '../../src/testing/test-objects.ts'
import { type CellLaws, testCells, testStore } from '../../src/testing/test-store.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { startRedis } from '../servers/redis/redis.ts'
import { testEvidence } from './evidence-laws.ts'
import { redisStore, retentionMs, stopAfterTests } from './redis.ts'

for (const flavour of ['valkey', 'redis'] as const) {
  const server = await startRedis(flavour)
  stopAfterTests(server)
  describe(flavour, { skip: skipReason(server) }, () => {
    if (isUnavailable(server)) return
    const { address: hosts } = server
    testStore({
      name: flavour,
      capabilities: { retentionMs },
      create: async ({ clock }) => (await redisStore({ hosts }, { clock })).panes,
    })
    const cellLaws: CellLaws = {
      name: flavour,
      async create({ clock }) {
        const { cells, close } = await redisStore({ hosts }, { clock })
        return { cells, end: close }
      },
    }
    testCells(cellLaws)
    testObjects(cellLaws)
    testEvidence(cellLaws)
  })
}
