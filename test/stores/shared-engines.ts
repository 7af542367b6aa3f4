/** One real engine of each kind that several processes can share, as URLs; for tests only. */
import assert from 'node:assert/strict'
import { readStoreUrl } from '../../src/config/open-store.ts'
import { systemClock } from '../../src/core/clock.ts'
import { kindOfStore } from '../../src/stores/kinds.ts'
import { isUnavailable, type Unavailable } from '../servers/availability.ts'
import { startCassandraFixture } from '../servers/cassandra/fixture.ts'
import { startDynamoDbFixture } from '../servers/dynamodb/fixture.ts'
import { startRedis } from '../servers/redis/redis.ts'
import { scratchDirectory } from './scratch.ts'

export interface SharedEngine {
  readonly url: string
  stop?(): Promise<void>
}

type Engines = Readonly<Record<string, () => Promise<SharedEngine | Unavailable>>>

/** @param table differs from file to file: of keyspaces and tables */
export const sharedEngines = (table: string): Engines => ({
  lmdb: async () => ({ url: `lmdb:${scratchDirectory()}` }),
  valkey: async () => {
    const server = await startRedis('valkey')
    return isUnavailable(server) ? server : { url: `redis://${server.address}/0`, stop: () => server.stop() }
  },
  cassandra: async () => {
    const server = await startCassandraFixture()
    if (isUnavailable(server)) return server
    const url = `cassandra://${server.contact}/${table}?dc=${server.dataCenter}`
    return setUp(url, () => server.stop())
  },
  dynamodb: async () => {
    const server = await startDynamoDbFixture()
    if (isUnavailable(server)) return server
    const url = `dynamodb://${table}?region=local&endpoint=${encodeURIComponent(server.endpoint)}`
    return setUp(url, () => server.stop())
  },
})

async function setUp(url: string, stop: () => Promise<void>): Promise<SharedEngine> {
  const config = readStoreUrl(url)
  const made = await kindOfStore(config).setup!.create(config, systemClock)
  assert.ok(!('refused' in made), JSON.stringify(made))
  return { url, stop }
}
