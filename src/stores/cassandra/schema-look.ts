/** Which of the tables there are. */
import type { Session } from './connection.ts'
import { consistencies, type QueryOptions } from './library.ts'
import { type TableName, tableNames } from './tables.ts'

/** Schema tables are local to each node; changes of the schema take a while to reach all of them. */
export const schemaOptions: QueryOptions = {
  prepare: true,
  isIdempotent: true,
  consistency: consistencies.local_one,
  readTimeout: 20_000,
}

export async function missingTables(session: Session, keyspace: string): Promise<readonly TableName[]> {
  const query = 'SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?'
  const { rows = [] } = await session.execute({ query, params: [keyspace] }, schemaOptions)
  const there = new Set(rows.map((row) => row['table_name']))
  return tableNames.filter((name) => !there.has(name))
}

export async function hasKeyspace(session: Session, keyspace: string): Promise<boolean> {
  const query = 'SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?'
  const { rows = [] } = await session.execute({ query, params: [keyspace] }, schemaOptions)
  return rows.length > 0
}

export const namesOf = (keyspace: string, tables: readonly TableName[]): string[] =>
  tables.map((table) => `${keyspace}.${table}`)
