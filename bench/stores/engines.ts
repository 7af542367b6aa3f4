/** The engines that are compared, started as the tests start them, each with a store that is empty. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readStoreUrl } from '../../src/config/open-store.ts'
import { systemClock } from '../../src/core/clock.ts'
import { kindOfStore } from '../../src/stores/kinds.ts'
import { isUnavailable, type Unavailable } from '../../test/servers/availability.ts'
import { startCassandra } from '../../test/servers/cassandra/cassandra.ts'
import { startDynamoDb } from '../../test/servers/dynamodb/dynamodb.ts'
import { type RedisFlavour, startRedis } from '../../test/servers/redis/redis.ts'

export interface Engine {
  readonly url: string
  stop(): Promise<void>
}

export const engines: Readonly<Record<string, () => Promise<Engine | Unavailable>>> = {
  lmdb: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'windowpane-bench-'))
    return { url: `lmdb:${folder}`, stop: async () => rmSync(folder, { recursive: true, force: true }) }
  },
  valkey: () => redis('valkey'),
  'redis 7.0': () => redis('redis'),
  cassandra: async () => {
    const server = await startCassandra()
    if (isUnavailable(server)) return server
    return setUp(`cassandra://${server.contact}/bench?dc=${server.dataCenter}`, () => server.stop())
  },
  'dynamodb local': async () => {
    const server = await startDynamoDb()
    if (isUnavailable(server)) return server
    const endpoint = encodeURIComponent(server.endpoint)
    return setUp(`dynamodb://bench?region=local&endpoint=${endpoint}`, () => server.stop())
  },
}

async function redis(flavour: RedisFlavour): Promise<Engine | Unavailable> {
  const server = await startRedis(flavour)
  return isUnavailable(server) ? server : { url: `redis://${server.address}/0`, stop: () => server.stop() }
}

async function setUp(url: string, stop: () => Promise<void>): Promise<Engine> {
  const config = readStoreUrl(url)
  const made = await kindOfStore(config).setup!.create(config, systemClock)
  if ('refused' in made) throw new Error(made.detail)
  return { url, stop }
}
