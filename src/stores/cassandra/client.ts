/** From the configuration to a connection. */
import { readFile } from 'node:fs/promises'
import type { Clock } from '../../core/clock.ts'
import { fileSentence } from '../../core/file-error.ts'
import type { Refused } from '../kind.ts'
import { Connection } from './connection.ts'
import type { CassandraConfig } from './kind.ts'
import { type Driver, loadLibrary } from './library.ts'
import { missingTables, namesOf } from './schema-look.ts'

export interface ConnectOptions {
  readonly clock: Clock
  /** What one operation may take unless it says otherwise. */
  readonly timeoutMs: number
  /** For tests: instead of the package. */
  readonly library?: () => Promise<unknown>
}

/** A host that does not answer must not hold up the start for long. */
const connectTimeoutMs = 2000
const reconnectMs = { first: 500, longest: 10_000 }

/** A connection that has not been opened; a value says why there can be none. */
export async function connectionTo(
  config: CassandraConfig,
  { clock, timeoutMs, library }: ConnectOptions,
): Promise<Connection | Refused> {
  const driver = await loadLibrary(library)
  if ('refused' in driver) return driver
  const files = await readFiles(config)
  if ('refused' in files) return files
  const { hosts, keyspace, dc: dataCenter } = config
  return new Connection({
    ...{ driver, clock, dataCenter, place: `cassandra://${hosts}/${keyspace}` },
    clientOptions: () => clientOptions(config, { driver, files, timeoutMs }),
    missing: async (session) => namesOf(keyspace, await missingTables(session, keyspace)),
  })
}

type Files = Readonly<Partial<Record<'passwordFile' | 'ca' | 'cert' | 'key', string>>>

async function readFiles(config: CassandraConfig): Promise<Files | Refused> {
  const files: Record<string, string> = {}
  for (const name of ['passwordFile', 'ca', 'cert', 'key'] as const) {
    const path = config[name]
    if (path === undefined) continue
    try {
      files[name] = await readFile(path, 'utf8')
    } catch (cause) {
      const detail = `${name}: ${fileSentence(path, cause)}`
      return { refused: 'cannot_open', detail, remedy: 'name a file that this user may read', cause }
    }
  }
  return files
}

function clientOptions(
  config: CassandraConfig,
  given: { readonly driver: Driver; readonly files: Files; readonly timeoutMs: number },
): Record<string, unknown> {
  const { policies } = given.driver
  const { passwordFile, ca, cert, key } = given.files
  const { ExponentialReconnectionPolicy } = policies.reconnection
  const { DefaultLoadBalancingPolicy } = policies.loadBalancing
  const password = config.password?.reveal() ?? passwordFile?.split(/\r?\n/, 1)[0]
  return {
    contactPoints: config.hosts.split(','),
    ...(config.username !== undefined && { credentials: { username: config.username, password } }),
    ...(config.tls && { sslOptions: { rejectUnauthorized: true, ca, cert, key } }),
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
