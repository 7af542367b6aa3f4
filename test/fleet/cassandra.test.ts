/** Several processes that share a keyspace in Cassandra. */
import { test } from 'node:test'
import { isUnavailable } from '../servers/availability.ts'
import { startCassandraFixture } from '../servers/cassandra/fixture.ts'
import { testFleet } from './fleet-laws.ts'
import { withTables } from './tables.ts'

const server = await startCassandraFixture()
let stores = 0
if (!isUnavailable(server)) test.after(() => server.stop())

testFleet('cassandra', async (t) => {
  if (isUnavailable(server)) return { skip: server.unavailable }
  const keyspace = `fleet_${process.pid}_${stores++}`
  return withTables(t, `cassandra://${server.contact}/${keyspace}?dc=${server.dataCenter}`)
})
