/**
 * Checks the rows of an answer that is sorted or cut later: a bucket may not have too many rows, their values must be
 * sortable, and Druid must have sorted the rows of each bucket as this cache would.
 */
import type { DruidPlan } from './druid-plan.ts'
import { type KeyTable, RowKeys } from './row-keys.ts'

/** The narrowed query has no limit, but the client's query may have one. */
const maxRows = 10_000

export class RowCheck {
  readonly #keys: RowKeys | undefined
  /** Two slots: the row, and the one before it. */
  readonly #table: KeyTable | undefined
  #slot = 0
  #rows = 0

  constructor({ format, order }: Pick<DruidPlan, 'format' | 'order'>) {
    this.#keys = order && new RowKeys(format, order)
    this.#table = this.#keys?.newTable(2)
  }

  /** Takes the next row, bytes[start .. end). Returns the problem with it, if there is one. */
  add(bytes: Buffer, row: readonly [start: number, end: number], isNewBucket: boolean): string | undefined {
    this.#rows = isNewBucket ? 1 : this.#rows + 1
    if (this.#rows > maxRows) return `more than ${maxRows} rows in a bucket`
    const [keys, table] = [this.#keys, this.#table]
    if (keys === undefined || table === undefined) return undefined
    const [slot, before] = [this.#slot, 1 - this.#slot]
    // The buffer may have been replaced since the row before.
    table.bytes[0] = bytes
    table.bytes[1] = bytes
    const problem = keys.read(table, slot, row)
    if (problem !== undefined) return problem
    if (this.#rows > 1 && keys.compare(table, before, slot) > 0) return 'rows in another order than expected'
    this.#slot = before
    return undefined
  }
}
