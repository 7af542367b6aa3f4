/**
 * The tables, as CQL. The text runs on Cassandra 4 and 5 and on Scylla alike.
 *
 * - `panes`: a partition holds 512 buckets of one key, so that no partition grows with the age of a key. Rows expire by
 *   their own TTL. All rows of a key live equally long, so time windows (TWCS) let whole files expire at once instead
 *   of being rewritten without their dead rows; Scylla has TWCS as well, and does not have Cassandra's newer UCS.
 * - `records`: the record of a key, and the list of its partitions that hold rows: a read without bounds reads only
 *   them.
 * - `cells`: written by lightweight transactions only. Clocks and attributes are frozen maps: one cell each, since
 *   every absent column of a row that is overwritten would be a tombstone.
 */

/** How long tombstones are kept so that replicas that were away learn of them. */
const paneGraceSeconds = 600
/** The time for which Cassandra keeps hints by default: a replica that was away for less learns of every removal. */
const cellGraceSeconds = 3 * 3600

export const tableNames = ['panes', 'records', 'cells'] as const
export type TableName = (typeof tableNames)[number]

/** A number of copies, or numbers by data centre, as in `dc1:3,dc2:2`. */
export type Replication = string

export const replicationPattern = '^(?:[1-9]\\d?|[\\w-]+:[1-9]\\d?(?:,[\\w-]+:[1-9]\\d?)*)$'

const timeWindows =
  "{'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'HOURS', 'compaction_window_size': '1'}"

/** The full name of a table; quoted, so that upper case stays upper case. */
export const tableIn = (keyspace: string, table: TableName): string => `"${keyspace}".${table}`

export const keyspaceDefinition = (keyspace: string, replication: Replication): string =>
  `CREATE KEYSPACE IF NOT EXISTS "${keyspace}" WITH replication = ${strategyOf(replication)}`

function strategyOf(replication: Replication): string {
  const perCentre = replication.split(',').map((part) => part.split(':'))
  if (perCentre[0]!.length === 1) return `{'class': 'SimpleStrategy', 'replication_factor': ${replication}}`
  const copies = perCentre.map(([centre, count]) => `'${centre}': ${count}`).join(', ')
  return `{'class': 'NetworkTopologyStrategy', ${copies}}`
}

export const tableDefinition = (keyspace: string, table: TableName): string =>
  `CREATE TABLE IF NOT EXISTS ${tableIn(keyspace, table)} (\n${columns[table]}\n) WITH ${options[table].join('\n  AND ')}`

const columns: Readonly<Record<TableName, string>> = {
  panes: `  key text,
  slice bigint,
  bucket bigint,
  buckets smallint,
  value blob,
  PRIMARY KEY ((key, slice), bucket, buckets)`,
  records: `  key text,
  slice bigint,
  record blob static,
  stamp blob static,
  PRIMARY KEY (key, slice)`,
  cells: `  pk text,
  sk text,
  rev text,
  kind text,
  v int,
  collect_at bigint,
  figures frozen<map<text, double>>,
  texts frozen<map<text, text>>,
  integers frozen<map<text, bigint>>,
  value blob,
  PRIMARY KEY (pk, sk)`,
}

const options: Readonly<Record<TableName, readonly string[]>> = {
  panes: [`compaction = ${timeWindows}`, `gc_grace_seconds = ${paneGraceSeconds}`],
  records: [`compaction = ${timeWindows}`, `gc_grace_seconds = ${paneGraceSeconds}`],
  cells: [`gc_grace_seconds = ${cellGraceSeconds}`],
}

/** Everything that has to be there, in order, for people and for tools that manage schemas. */
export const definitionOf = (keyspace: string, replication: Replication): string =>
  [keyspaceDefinition(keyspace, replication), ...tableNames.map((table) => tableDefinition(keyspace, table))]
    .map((statement) => `${statement};\n`)
    .join('\n')
