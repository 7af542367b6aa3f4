/** Several processes that share a Valkey server, each test below a prefix of its own. */
import { test } from 'node:test'
import { isUnavailable } from '../servers/availability.ts'
import { startRedis } from '../servers/redis/redis.ts'
import { type StoreUrl, testFleet } from './fleet-laws.ts'
import { testDyingHolders } from './holder-laws.ts'
import { testViewers } from './viewer-laws.ts'

const server = await startRedis('valkey')
let stores = 0
if (!isUnavailable(server)) test.after(() => server.stop())

const storeUrl: StoreUrl = async () =>
  isUnavailable(server)
    ? { skip: server.unavailable }
    : `valkey://${server.address}/0?prefix=fleet-${process.pid}-${stores++}`

testFleet('valkey', storeUrl)
testViewers('valkey', storeUrl)
testDyingHolders('valkey', storeUrl)
