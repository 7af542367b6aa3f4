/** A keyspace of its own in the shared Cassandra, and stores in it that do not see each other's keys; for tests only. */
import assert from 'node:assert/strict'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import { CassandraCells } from '../../src/stores/cassandra/cells.ts'
import { connectionTo } from '../../src/stores/cassandra/client.ts'
import type { Connection, Session } from '../../src/stores/cassandra/connection.ts'
import { createTables } from '../../src/stores/cassandra/inspect.ts'
import type { CassandraConfig } from '../../src/stores/cassandra/kind.ts'
import { consistencies } from '../../src/stores/cassandra/library.ts'
import { CassandraRows } from '../../src/stores/cassandra/rows.ts'
import type { CellEngine } from '../../src/stores/rows/cell-engine.ts'
import { RowCells } from '../../src/stores/rows/row-cells.ts'
import type { RowEngine } from '../../src/stores/rows/row-engine.ts'
import { RowStore } from '../../src/stores/rows/row-store.ts'
import { isUnavailable, type Unavailable } from '../servers/availability.ts'
import type { CassandraAddress } from '../servers/cassandra/cassandra.ts'
import { startCassandraFixture } from '../servers/cassandra/fixture.ts'

/** Far longer than any operation on a busy machine. */
const patientMs = 60_000

export const configOf = (address: CassandraAddress, keyspace: string): CassandraConfig => ({
  hosts: address.contact,
  keyspace,
  dc: address.dataCenter,
  replication: '1',
  consistency: 'local_one',
  ...{ username: undefined, password: undefined, passwordFile: undefined },
  ...{ tls: false, ca: undefined, cert: undefined, key: undefined, serverName: undefined },
})

export interface CassandraRig {
  readonly config: CassandraConfig
  readonly session: Connection
  /** Of the server. */
  readonly version: string
  /** Engines see only their own writes. */
  rows(session?: Session): RowEngine
  cells(clock: Clock, session?: Session): CellEngine
  store(clock: Clock, retentionMs?: number): RowStore
  end(): Promise<void>
}

/** @param keyspace differs from file to file */
export async function cassandraRig(keyspace: string): Promise<CassandraRig | Unavailable> {
  const server = await startCassandraFixture()
  if (isUnavailable(server)) return server
  const config = configOf(server, keyspace)
  const created = await createTables(config, systemClock)
  assert.ok('created' in created, JSON.stringify(created))
  const session = await connectionTo(config, { clock: systemClock, timeoutMs: patientMs })
  assert.ok(!('refused' in session))
  await session.open()
  let stores = 0
  const rows = (other: Session = session): RowEngine => {
    const { local_one: consistency } = consistencies
    const engine = new CassandraRows({ session: other, keyspace, consistency, timeoutMs: patientMs })
    return behindPrefix(engine, `${stores++}.`)
  }
  const cells = (clock: Clock, other: Session = session): CellEngine =>
    withOwnPartitions(
      new CassandraCells({ session: other, keyspace, clock, timeoutMs: patientMs }),
      `${stores++}.`,
    )
  return {
    ...{ config, session, version: server.version, rows, cells },
    store: (clock, retentionMs = 24 * 3_600_000) =>
      new RowStore({ engine: rows(), cells: new RowCells(cells(clock), clock), clock, retentionMs }),
    async end() {
      await session.close()
      await server.stop()
    },
  }
}

function behindPrefix(engine: RowEngine, prefix: string): RowEngine {
  return {
    name: engine.name,
    read: (key, range) => engine.read(prefix + key, range),
    write: (key, changes) => engine.write(prefix + key, changes),
    async *records() {
      for await (const [key, record] of engine.records())
        if (key.startsWith(prefix)) yield [key.slice(prefix.length), record] as const
    },
    close: () => engine.close(),
  }
}

function withOwnPartitions(engine: CellEngine, prefix: string): CellEngine {
  return {
    name: engine.name,
    capabilities: engine.capabilities,
    load: (pk, sks) => engine.load(prefix + pk, sks),
    list: (pk) => engine.list(prefix + pk),
    commit: (pk, changes) => engine.commit(prefix + pk, changes),
  }
}
