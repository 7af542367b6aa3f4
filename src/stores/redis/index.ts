/** A store in Redis or Valkey, shared by all nodes that name the same servers and prefix. */
import type { Cells } from '../cells.ts'
import type { OpenedStore, Refused, StoreRules } from '../kind.ts'
import { RowCells } from '../rows/row-cells.ts'
import { RowStore } from '../rows/row-store.ts'
import { RedisCells } from './cells.ts'
import { clientMaker } from './clients.ts'
import { Connection } from './connection.ts'
import type { RedisConfig } from './kind.ts'
import { loadLibrary } from './library.ts'
import { RedisRows } from './rows.ts'

export type { RedisConfig } from './kind.ts'

export interface RedisStoreOptions extends Pick<StoreRules, 'clock' | 'retentionMs' | 'timeoutMs'> {
  readonly config: RedisConfig
}

export interface RedisStore extends OpenedStore {
  readonly cells: Cells
}

/** A server that is down is no reason to refuse: operations fail until it is there. */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore | Refused> {
  const { config, clock, retentionMs, timeoutMs } = options
  const connection = await connect({ config, clock, timeoutMs })
  if ('refused' in connection) return connection
  const cells = new RowCells(new RedisCells(connection, config.prefix), clock)
  const panes = new RowStore({ engine: new RedisRows(connection, config.prefix), cells, clock, retentionMs })
  const { state, detail } = connection.condition
  const notice = { notice: `it cannot be used yet: ${detail}` }
  return { panes, cells, ...(state === 'degraded' && notice), close: () => panes.close() }
}

/** Resolves after the first attempt to connect, whether it succeeded or not. */
export async function connect(
  options: Omit<RedisStoreOptions, 'retentionMs'>,
): Promise<Connection | Refused> {
  const library = await loadLibrary()
  if ('refused' in library) return library
  const { config, clock } = options
  const makeClient = clientMaker({ ...options, library })
  if ('refused' in makeClient) return makeClient
  const connection = new Connection({ config, clock, makeClient })
  await connection.settled()
  return connection
}
