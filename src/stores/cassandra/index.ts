/** A store in Cassandra or Scylla that any number of nodes share. */
import type { OpenedStore, Refused, StoreRules } from '../kind.ts'
import { RowCells } from '../rows/row-cells.ts'
import { RowStore } from '../rows/row-store.ts'
import { CassandraCells } from './cells.ts'
import { connectionTo } from './client.ts'
import type { CassandraConfig } from './kind.ts'
import { consistencies } from './library.ts'
import { CassandraRows } from './rows.ts'

const defaultTimeouts = {
  /** Of an operation on cells: a transaction takes four round trips between replicas, and more where others compete. */
  cellMs: 2000,
  /** How long opening waits for the cluster; after that the store is there, and fails until the cluster is. */
  openMs: 5000,
}

export async function openCassandraStore(
  config: CassandraConfig,
  { clock, retentionMs, timeoutMs }: Pick<StoreRules, 'clock' | 'retentionMs' | 'timeoutMs'>,
  timeouts = defaultTimeouts,
): Promise<OpenedStore | Refused> {
  const connection = await connectionTo(config, { clock, timeoutMs })
  if ('refused' in connection) return connection
  const waited = Promise.withResolvers<void>()
  const timer = clock.after(timeouts.openMs, waited.resolve)
  await Promise.race([connection.open(), waited.promise])
  timer.cancel()
  const { keyspace, consistency } = config
  const common = { session: connection, keyspace }
  const engine = new CassandraRows({
    ...common,
    consistency: consistencies[consistency],
    timeoutMs,
    health: () => connection.health,
  })
  const cells = new RowCells(
    new CassandraCells({ ...common, clock, timeoutMs: Math.max(timeoutMs, timeouts.cellMs) }),
    clock,
  )
  const panes = new RowStore({ engine, cells, clock, retentionMs })
  const { detail: notice } = connection.health
  return {
    ...{ panes, cells, ...(notice !== undefined && { notice }) },
    async close() {
      await panes.close()
      await connection.close()
    },
  }
}
