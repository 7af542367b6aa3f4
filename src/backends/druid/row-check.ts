/**
 * Looks at the rows of an answer that will be sorted later on: whether a bucket has too many of them, whether their values
 * can be sorted, and whether Druid has sorted the rows of each bucket as they would be sorted here.
 */
import type { DruidPlan } from './druid-plan.ts'
import { type KeyValues, RowKeys } from './row-keys.ts'

/** Where the client's own query has a limit, a narrowed one has none. */
const maxRows = 10_000

export class RowCheck {
  readonly #keys: RowKeys | undefined
  #row: KeyValues | undefined
  #before: KeyValues | undefined
  #rows = 0

  constructor({ format, order }: Pick<DruidPlan, 'format' | 'order'>) {
    this.#keys = order && new RowKeys(format, order)
    this.#row = this.#keys?.newValues()
    this.#before = this.#keys?.newValues()
  }

  /**
   * The row bytes[start .. end) of the bucket of the row before it, or of the next one. Returns its mistake, if any.
   */
  add(bytes: Buffer, [start, end]: readonly [number, number], isNewBucket: boolean): string | undefined {
    this.#rows = isNewBucket ? 1 : this.#rows + 1
    if (this.#rows > maxRows) return `more than ${maxRows} rows in a bucket`
    const [keys, row, before] = [this.#keys, this.#row, this.#before]
    if (keys === undefined || row === undefined || before === undefined) return undefined
    row.bytes = bytes
    const problem = keys.read(row, start, end)
    if (problem !== undefined) return problem
    // The bytes may have been moved since.
    before.bytes = bytes
    if (this.#rows > 1 && keys.compare(before, row) > 0) return 'rows in another order than expected'
    this.#row = before
    this.#before = row
    return undefined
  }
}
