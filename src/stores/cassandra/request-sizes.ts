/** How much goes into one request, and how many rows come back at once. */
import { batchesOf } from '../../core/batches.ts'
import type { Session } from './connection.ts'
import type { QueryOptions, Row, Statement } from './library.ts'

/** Far below the 16 MiB that a request may have, and small enough not to hold up others on the same connection. */
const maxBatchBytes = 768 * 1024
/** The size of a statement besides its value. */
const statementBytes = 128
const pageBytes = 2 * 1024 * 1024
const [minPageRows, maxPageRows] = [8, 4096]

const bytesIn = (values: readonly unknown[]): number =>
  values.reduce<number>((sum, value) => sum + (value instanceof Uint8Array ? value.byteLength : 0), 0)

/** The statements of one partition, in order, in batches of bounded size. */
export const statementBatches = (statements: readonly Statement[]): Statement[][] =>
  batchesOf(statements, maxBatchBytes, ({ params }) => statementBytes + bytesIn(params))

/** The rows of all pages. Where the first page has a size, the next are as large as its rows allow. */
export async function* pagesOf(
  session: Session,
  statement: Statement,
  options: QueryOptions,
): AsyncIterable<readonly Row[]> {
  let asked = options
  for (;;) {
    const { rows = [], pageState } = await session.execute(statement, asked)
    yield rows
    if (pageState === null) return
    const size = options.fetchSize === undefined ? {} : { fetchSize: rowsPerPage(rows) }
    asked = { ...options, ...size, pageState }
  }
}

/** How many rows make a page of a sensible size, if they are as large as these. */
function rowsPerPage(rows: readonly Row[]): number {
  const bytes = rows.reduce((sum, row) => sum + bytesIn(Object.values(row)), statementBytes)
  const fitting = Math.floor(pageBytes / (bytes / Math.max(1, rows.length)))
  return Math.min(Math.max(minPageRows, fitting), maxPageRows)
}
