/** Inspection of a cluster for operators, and the creation of the tables. Each opens a connection of its own. */
import type { Clock } from '../../core/clock.ts'
import { fail, fastestOf, ok, speedFinding } from '../findings.ts'
import type { Created, Inspected, Refused, StoreFinding } from '../kind.ts'
import { connectionTo } from './client.ts'
import type { Connection } from './connection.ts'
import type { CassandraConfig } from './kind.ts'
import { messageOf } from './library.ts'
import { hasKeyspace, missingTables, namesOf, schemaOptions } from './schema-look.ts'
import { keyspaceDefinition, tableDefinition } from './tables.ts'

export function inspectCassandra(config: CassandraConfig, clock: Clock): Promise<Inspected | Refused> {
  return connected(config, clock, async (connection) => ({
    version: await versionOf(connection),
    missing: namesOf(config.keyspace, await missingTables(connection, config.keyspace)),
  }))
}

export function createTables(config: CassandraConfig, clock: Clock): Promise<Created | Refused> {
  const { keyspace, replication } = config
  return connected(config, clock, async (connection) => {
    const run = (query: string) => connection.execute({ query, params: [] }, schemaOptions)
    // "If not exists" needs the right to create keyspaces even where the keyspace exists.
    if (!(await hasKeyspace(connection, keyspace))) await run(keyspaceDefinition(keyspace, replication))
    const missing = await missingTables(connection, keyspace)
    for (const table of missing) await run(tableDefinition(keyspace, table))
    return { created: namesOf(keyspace, missing) }
  })
}

const attempts = 5

export async function examineCassandra(config: CassandraConfig, clock: Clock): Promise<StoreFinding[]> {
  const findings = await connected(config, clock, async (connection) => {
    const version = await versionOf(connection)
    const missing = namesOf(config.keyspace, await missingTables(connection, config.keyspace))
    const ms = await fastestOf(attempts, clock, () => versionOf(connection))
    const text = `It answers as version ${version}; a read`
    return [speedFinding(text, ms, 'Use a cluster that is nearer.'), tableFinding(missing)]
  })
  if (!('refused' in findings)) return findings
  const { detail, remedy } = findings
  return [fail(`${detail}: buckets are kept in memory only.`, remedy)]
}

function tableFinding(missing: readonly string[]): StoreFinding {
  if (missing.length === 0) return ok('All tables are there.')
  const remedy = 'Create them with `windowpane store init --url URL`.'
  return fail(`Tables are missing: ${missing.join(', ')}.`, remedy)
}

async function versionOf(connection: Connection): Promise<string> {
  const statement = { query: 'SELECT release_version FROM system.local', params: [] }
  const { rows = [] } = await connection.execute(statement, schemaOptions)
  return String(rows[0]?.['release_version'])
}

/** Runs an action on a connection that is closed afterwards, or returns the reason why there is no connection. */
async function connected<T>(
  config: CassandraConfig,
  clock: Clock,
  action: (connection: Connection) => Promise<T>,
): Promise<T | Refused> {
  const connection = await connectionTo(config, { clock, timeoutMs: 20_000 })
  if ('refused' in connection) return connection
  try {
    await connection.open()
    return refusalBy(connection) ?? (await action(connection))
  } catch (cause) {
    const remedy = 'look for the reason in the log of the servers'
    return refusalBy(connection) ?? { refused: 'failed', detail: messageOf(cause), remedy, cause }
  } finally {
    await connection.close()
  }
}

/** Missing tables are no reason: they can be created. */
function refusalBy({ trouble, place }: Connection): Refused | undefined {
  if (trouble === undefined || trouble.is === 'not_set_up') return undefined
  return { refused: trouble.is, detail: `${place}: ${trouble.message}`, remedy: trouble.remedy }
}
