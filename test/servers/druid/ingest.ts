/** Rows into a Druid, and waiting until its broker answers with them. */
import { eventually } from '../../wait.ts'
import { ask, askJson, askSql } from './ask.ts'
import type { DruidAddresses } from './druid.ts'

/**
 * `time` in epoch milliseconds; a bigint for integers beyond the range of a double, a list for a dimension of several
 * values.
 */
export type Row = { readonly time: number } & Readonly<Record<string, RowValue>>
type RowValue = string | number | bigint | null | readonly string[]

/** The columns of a data source; times are kept as they are and no rows are rolled up. */
export interface Table {
  readonly dataSource: string
  /** A name is a text; { type: 'long', name } and so on for others. */
  readonly dimensions: readonly (string | { readonly type: string; readonly name: string })[]
  /** As in Druid's metricsSpec, such as { type: 'longSum', name: 'added', fieldName: 'added' }. */
  readonly metrics: readonly object[]
  readonly segmentGranularity: 'HOUR' | 'DAY' | 'WEEK' | 'MONTH' | 'YEAR'
}

export interface Ingestion extends Table {
  readonly rows: readonly Row[]
  /** Adds segments; otherwise the rows replace the content of their days (or months, and so on). */
  readonly append?: boolean
}

/** Returns once the broker answers with the new rows, in native queries and in SQL. */
export async function ingest(druid: DruidAddresses, ingestion: Ingestion): Promise<void> {
  const { dataSource } = ingestion
  const before = new Set(await servedSegments(druid, dataSource))
  const task = await submit(druid, ingestion)
  const published = await segmentsPublished(druid, task)
  const allServed = async () => {
    const now = await servedSegments(druid, dataSource)
    return now.filter((id) => !before.has(id)).length === published && (await isKnownToSql(druid, dataSource))
  }
  await eventually(allServed, (isServed) => isServed)
}

/** Returns the ids of the segments that the broker can query: metadata run ahead of that. */
export async function servedSegments(druid: DruidAddresses, dataSource: string): Promise<string[]> {
  const query = `SELECT segment_id AS id FROM sys.segments WHERE datasource = '${dataSource}' AND is_available = 1 ORDER BY 1`
  const rows = await askSql<{ readonly id: string }>(druid.brokerUrl, query)
  return rows.map((row) => row.id)
}

async function submit(druid: DruidAddresses, ingestion: Ingestion): Promise<string> {
  const url = `${druid.coordinatorUrl}/druid/indexer/v1/task`
  const { task } = await askJson<{ readonly task: string }>(url, taskSpec(ingestion))
  return task
}

function taskSpec(ingestion: Ingestion): object {
  const { dataSource, dimensions, metrics, segmentGranularity, rows, append = false } = ingestion
  return {
    type: 'index_parallel',
    spec: {
      dataSchema: {
        dataSource,
        timestampSpec: { column: 'time', format: 'millis' },
        dimensionsSpec: { dimensions },
        metricsSpec: metrics,
        granularitySpec: { type: 'uniform', segmentGranularity, queryGranularity: 'NONE', rollup: false },
      },
      ioConfig: {
        type: 'index_parallel',
        inputSource: { type: 'inline', data: rows.map(rowText).join('\n') },
        inputFormat: { type: 'json' },
        appendToExisting: append,
      },
      // Sub-tasks would cost more than they do.
      tuningConfig: { type: 'index_parallel', maxNumConcurrentSubTasks: 1 },
    },
  }
}

/** Druid reads numbers from text too, which is how those beyond 2^53 arrive whole. */
function rowText(row: Row): string {
  return JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

/** Waits for the task and returns how many segments it made. */
async function segmentsPublished(druid: DruidAddresses, task: string): Promise<number> {
  const url = `${druid.coordinatorUrl}/druid/indexer/v1/task/${task}`
  const { status, errorMsg } = await eventually(
    async () => (await askJson<TaskStatus>(`${url}/status`)).status,
    (now) => now.status === 'SUCCESS' || now.status === 'FAILED',
  )
  if (status === 'FAILED') throw new Error(`task ${task} failed: ${errorMsg}`)
  const report = await askJson<TaskReport>(`${url}/reports`)
  return report.ingestionStatsAndErrors.payload.segmentsPublished
}

interface TaskStatus {
  readonly status: { readonly status: string; readonly errorMsg: string }
}

interface TaskReport {
  readonly ingestionStatsAndErrors: { readonly payload: { readonly segmentsPublished: number } }
}

/** The planner learns columns a moment after the broker learns segments. */
async function isKnownToSql(druid: DruidAddresses, dataSource: string): Promise<boolean> {
  const query = `SELECT COUNT(*) FROM "${dataSource}"`
  const { status } = await ask(`${druid.brokerUrl}/druid/v2/sql`, { query })
  return status === 200
}
