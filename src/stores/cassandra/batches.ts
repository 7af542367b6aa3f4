/** How much goes into one request. */
import type { Row, Statement } from './library.ts'

/** Far below the 16 MiB that a request may have, and small enough not to hold up others on the same connection. */
const maxBatchBytes = 768 * 1024
/** The size of a statement besides its value. */
const statementBytes = 128
const pageBytes = 2 * 1024 * 1024
const [minPageRows, maxPageRows] = [8, 4096]

const bytesIn = (values: readonly unknown[]): number =>
  values.reduce<number>((sum, value) => sum + (value instanceof Uint8Array ? value.byteLength : 0), 0)

/** The statements of one partition, in order, in batches of bounded size. */
export function batchesOf(statements: readonly Statement[]): Statement[][] {
  const batches: Statement[][] = []
  let left = 0
  for (const statement of statements) {
    const bytes = statementBytes + bytesIn(statement.params)
    if (bytes > left) {
      batches.push([])
      left = maxBatchBytes
    }
    batches.at(-1)!.push(statement)
    left -= bytes
  }
  return batches
}

/** How many rows make a page of a sensible size, if they are as large as these. */
export function rowsPerPage(rows: readonly Row[]): number {
  const bytes = rows.reduce((sum, row) => sum + bytesIn(Object.values(row)), statementBytes)
  const fitting = Math.floor(pageBytes / (bytes / Math.max(1, rows.length)))
  return Math.min(Math.max(minPageRows, fitting), maxPageRows)
}
