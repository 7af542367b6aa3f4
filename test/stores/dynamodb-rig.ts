/**
 * Tools for the tests of the DynamoDB store: a server, tables for the test file, and stores in them that keep apart.
 */

import { test } from 'node:test'
import { DynamoDB } from '@aws-sdk/client-dynamodb'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import { DynamoDbCells } from '../../src/stores/dynamodb/cells.ts'
import {
  type DynamoDbOptions,
  type DynamoDbStore,
  openDynamoDbStore,
} from '../../src/stores/dynamodb/index.ts'
import type { DynamoDbApi } from '../../src/stores/dynamodb/library.ts'
import { Requests } from '../../src/stores/dynamodb/requests.ts'
import { DynamoDbRows } from '../../src/stores/dynamodb/rows.ts'
import { createTables, tablesOf } from '../../src/stores/dynamodb/tables.ts'
import { skipReason } from '../servers/availability.ts'
import { type DynamoDbFixture, startDynamoDbFixture } from '../servers/dynamodb/fixture.ts'
import { HANG_MS } from '../wait.ts'

export const hourMs = 3_600_000

export interface DynamoDbRig {
  readonly endpoint: string
  readonly table: string
  /** The plain client, as readers in other languages have one. */
  readonly api: DynamoDB
  /** A store of its own in the tables of this file, or another one of the same prefix. */
  open(options?: Partial<DynamoDbOptions>): Promise<DynamoDbStore>
}

/** Runs `define` with a rig, or registers a test that is skipped with the reason. */
export async function withDynamoDb(table: string, define: (rig: DynamoDbRig) => void): Promise<void> {
  const server = await startDynamoDbFixture()
  const reason = skipReason(server)
  if (reason === false) define(await rigOf(server as DynamoDbFixture, table))
  else test(`DynamoDB: ${table}`, { skip: reason }, () => {})
}

async function rigOf(server: DynamoDbFixture, table: string): Promise<DynamoDbRig> {
  const { endpoint } = server
  const api = clientOf(endpoint)
  const created = await createTables(api, tablesOf(table), systemClock)
  if ('refused' in created) throw new Error(created.detail)
  test.after(async () => {
    api.destroy()
    await server.stop()
  })
  let stores = 0
  return {
    endpoint,
    table,
    api,
    open: (options = {}) => openStore({ endpoint, table, prefix: `${stores++}/`, ...options }),
  }
}

export const clientOf = (endpoint: string): DynamoDB =>
  new DynamoDB({ endpoint, region: 'local', credentials: { accessKeyId: 'x', secretAccessKey: 'x' } })

/** The engines alone, on any client. */
export function enginesOn(
  api: DynamoDbApi,
  table: string,
  { clock = systemClock as Clock, timeoutMs = HANG_MS } = {},
) {
  const tables = tablesOf(table)
  const paneRequests = new Requests({ api, table: tables.panes, clock, timeoutMs })
  const cellRequests = new Requests({ api, table: tables.cells, clock, timeoutMs })
  const [prefix, close, figures] = [`${table}/`, () => {}, () => ({})]
  return {
    paneRequests,
    cellRequests,
    rows: new DynamoDbRows({ requests: paneRequests, prefix, figures, close }),
    cells: new DynamoDbCells(cellRequests, prefix),
  }
}

/** The server shares the machine with other tests: no request is given up because it is slow. */
export async function openStore(
  options: Partial<DynamoDbOptions> & { readonly table: string; readonly clock?: Clock },
): Promise<DynamoDbStore> {
  const store = await openDynamoDbStore({
    clock: systemClock,
    retentionMs: hourMs,
    timeoutMs: HANG_MS,
    ...options,
  })
  if ('refused' in store) throw new Error(store.detail)
  return store
}
