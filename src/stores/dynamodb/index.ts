/** Two tables of DynamoDB as a store: panes in one, cells in the other. */
import { inTime } from '../../core/deadline.ts'
import type { StoreCondition, StoreFigures } from '../figures.ts'
import type { OpenedStore, Refused, StoreRules } from '../kind.ts'
import { RowCells } from '../rows/row-cells.ts'
import { RowStore } from '../rows/row-store.ts'
import { DynamoDbCells } from './cells.ts'
import { recordKey } from './keys.ts'
import { connect } from './library.ts'
import { Requests } from './requests.ts'
import { DynamoDbRows } from './rows.ts'
import { tablesOf } from './tables.ts'

/** Written out, so that a program that compiles against this needs no types of the SDK. */
export interface DynamoDbOptions extends Pick<StoreRules, 'clock' | 'retentionMs'> {
  /** Of panes; that of cells is called the same with `-cells` behind. */
  readonly table: string
  /** Where not given, the environment or a profile names it. */
  readonly region?: string | undefined
  /** Where not given, that of the service in its region. */
  readonly endpoint?: string | undefined
  /** The timeout of one request; 500 ms by default. */
  readonly timeoutMs?: number
  /** Before every partition key: stores with unequal prefixes share the tables and nothing else. */
  readonly prefix?: string
  /** The SDK, where it is not the installed package. */
  readonly library?: () => Promise<unknown>
}

export interface DynamoDbStore extends OpenedStore {
  readonly panes: RowStore
  readonly cells: RowCells
}

const defaultTimeoutMs = 500

/** Refuses only unusable options. Tables that are missing or do not answer are used as soon as they do. */
export async function openDynamoDbStore(options: DynamoDbOptions): Promise<DynamoDbStore | Refused> {
  const { clock, table, region, endpoint, timeoutMs = defaultTimeoutMs, prefix = '' } = options
  const api = await connect({ region, endpoint, timeoutMs }, options.library)
  if ('refused' in api) return api
  const tables = tablesOf(table)
  const [paneRequests, cellRequests] = [tables.panes, tables.cells].map(
    (name) => new Requests({ api, table: name, clock, timeoutMs }),
  ) as [Requests, Requests]
  const figures = (): StoreFigures => figuresOf([paneRequests, cellRequests])
  const rows = new DynamoDbRows({ requests: paneRequests, prefix, figures, close: () => api.destroy() })
  const cells = new RowCells(new DynamoDbCells(cellRequests, prefix), clock)
  const panes = new RowStore({ engine: rows, cells, clock, retentionMs: options.retentionMs })
  await inTime(probe(paneRequests, cellRequests), clock, timeoutMs).catch(() => {})
  const { health } = figures()
  return {
    panes,
    cells,
    ...(health?.state === 'degraded' && { notice: `it cannot be used yet: ${health.detail}` }),
    close: () => panes.close(),
  }
}

/** Reports problems at the start, not at the first query. */
async function probe(panes: Requests, cells: Requests): Promise<void> {
  const pk = { S: 'probe' }
  await Promise.allSettled([
    panes.send((api) => api.getItem({ TableName: panes.table, Key: { pk, sk: { B: recordKey } } })),
    cells.send((api) => api.getItem({ TableName: cells.table, Key: { pk, sk: { S: '-' } } })),
  ])
}

function figuresOf(tables: readonly Requests[]): StoreFigures {
  const conditions = tables.map((table) => table.conditionBeside(tables))
  const health: StoreCondition = conditions.find(({ state }) => state !== 'ok') ?? { state: 'ok' }
  return {
    health,
    throttled: tables.reduce((sum, { throttled }) => sum + throttled, 0),
    refusedRequests: tables.reduce((sum, { refused }) => sum + refused, 0),
  }
}
