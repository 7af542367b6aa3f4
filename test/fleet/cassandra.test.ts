/** Several processes that share a keyspace in Cassandra. */
import { test } from 'node:test'
import { isUnavailable } from '../servers/availability.ts'
import { startCassandraFixture } from '../servers/cassandra/fixture.ts'
import { type StoreUrl, testFleet } from './fleet-laws.ts'
import { withTables } from './tables.ts'
import { testViewers } from './viewer-laws.ts'

const server = await startCassandraFixture()
let stores = 0
if (!isUnavailable(server)) test.after(() => server.stop())

const storeUrl: StoreUrl = async (t) => {
  if (isUnavailable(server)) return { skip: server.unavailable }
  const keyspace = `fleet_${process.pid}_${stores++}`
  return withTables(t, `cassandra://${server.contact}/${keyspace}?dc=${server.dataCenter}`)
}

testFleet('cassandra', storeUrl)
testViewers('cassandra', storeUrl)
