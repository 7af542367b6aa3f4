/** From the configuration to a connection. */
import type { Clock } from '../../core/clock.ts'
import type { Refused } from '../kind.ts'
import { type Login, readLogin, readTls, type TlsSecrets } from '../server-secrets.ts'
import { Connection } from './connection.ts'
import type { CassandraConfig } from './kind.ts'
import { type Driver, loadLibrary } from './library.ts'
import { missingTables, namesOf } from './schema-look.ts'

export interface ConnectOptions {
  readonly clock: Clock
  /** The default timeout of one operation. */
  readonly timeoutMs: number
  /** For tests: instead of the package. */
  readonly library?: () => Promise<unknown>
}

/** A host that does not answer must not hold up the start for long. */
const connectTimeoutMs = 2000
const reconnectMs = { first: 500, longest: 10_000 }

/** A connection that is not opened yet, or the reason why none is possible. */
export async function connectionTo(
  config: CassandraConfig,
  { clock, timeoutMs, library }: ConnectOptions,
): Promise<Connection | Refused> {
  const driver = await loadLibrary(library)
  if ('refused' in driver) return driver
  const login = readLogin(config)
  if ('refused' in login) return login
  const tls = readTls(config)
  if (tls !== undefined && 'refused' in tls) return tls
  const { hosts, keyspace, dc: dataCenter } = config
  return new Connection({
    ...{ driver, clock, dataCenter, place: `cassandra://${hosts}/${keyspace}` },
    clientOptions: () => clientOptions(config, { driver, login, tls, timeoutMs }),
    missing: async (session) => namesOf(keyspace, await missingTables(session, keyspace)),
  })
}

interface Given {
  readonly driver: Driver
  readonly login: Login
  readonly tls: TlsSecrets | undefined
  readonly timeoutMs: number
}

function clientOptions(config: CassandraConfig, given: Given): Record<string, unknown> {
  const { policies } = given.driver
  const { username, password } = given.login
  const { ExponentialReconnectionPolicy } = policies.reconnection
  const { DefaultLoadBalancingPolicy } = policies.loadBalancing
  return {
    contactPoints: config.hosts.split(','),
    ...(username !== undefined && { credentials: { username, password } }),
    ...(given.tls && { sslOptions: given.tls }),
    encoding: { useBigIntAsLong: true },
    socketOptions: { connectTimeout: connectTimeoutMs, readTimeout: given.timeoutMs },
    policies: {
      // Not `localDataCenter`: where there is no such data centre, the driver would leave its connection open.
      loadBalancing: new DefaultLoadBalancingPolicy({ localDc: config.dc }),
      reconnection: new ExponentialReconnectionPolicy(reconnectMs.first, reconnectMs.longest),
    },
    applicationName: 'windowpane',
    monitorReporting: { enabled: false },
  }
}
