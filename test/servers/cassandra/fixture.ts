/**
 * One Cassandra for all test files: test/run.ts starts it and names it in the environment; a test file run by itself
 * starts its own. Each file works in a keyspace of its own. A test that stops or pauses the server starts its own.
 */
import { isUnavailable, type Unavailable } from '../availability.ts'
import { type CassandraAddress, startCassandra } from './cassandra.ts'

const VARIABLE = 'WINDOWPANE_CASSANDRA_FIXTURE'

/** A shared server can be queried, not stopped. */
export interface CassandraFixture extends CassandraAddress {
  /** Stops the server if it was started by this call; a shared one stays. */
  stop(): Promise<void>
}

/** Returns the shared server, or one started now when there is none. */
export async function startCassandraFixture(): Promise<CassandraFixture | Unavailable> {
  const text = process.env[VARIABLE]
  if (!text) return startCassandra()
  const shared = JSON.parse(text) as CassandraAddress | Unavailable
  return isUnavailable(shared) ? shared : { ...shared, stop: async () => {} }
}

/** Returns the environment by which startCassandraFixture() of other processes finds this server. */
export function cassandraEnvironment(server: CassandraAddress | Unavailable): Record<string, string> {
  if (isUnavailable(server)) return { [VARIABLE]: JSON.stringify({ unavailable: server.unavailable }) }
  const { contact, dataCenter, version } = server
  return { [VARIABLE]: JSON.stringify({ contact, dataCenter, version }) }
}
