/** Removes cells whose collection clock has passed. LMDB has no lifetimes, and most of them are never read again. */
import type { Clock } from '../../core/clock.ts'
import { isCollected } from '../cell-rules.ts'
import { revisionAt, storedAt } from './cells.ts'
import type { StoreFile } from './file.ts'

/** In one transaction, so that writers do not wait long. */
const rowsAtOnce = 128
const rowsPerRound = 4096
/** Behind every row: no UTF-8 text begins with it. */
const end = Buffer.of(0xff)

export class CellCollection {
  readonly #file: StoreFile
  readonly #clock: Clock
  /** The last row that was looked at; this one is before all others. */
  #last: Buffer = revisionAt

  constructor(file: StoreFile, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  /** Goes on where the round before ended. Rejects where the file cannot be written. */
  async collect(): Promise<void> {
    for (let looked = 0; looked < rowsPerRound; looked += rowsAtOnce) {
      const rows = await this.#file.change(0, () => this.#collectSome())
      const isEnd = rows.length < rowsAtOnce
      this.#last = isEnd ? revisionAt : rows.at(-1)!
      if (isEnd) break
    }
  }

  #collectSome(): readonly Buffer[] {
    const { cells } = this.#file.tables
    const now = this.#clock.now()
    const behind = Buffer.concat([this.#last, Buffer.of(0)])
    const rows = [...cells.getKeys({ start: behind, end, limit: rowsAtOnce })]
    for (const at of rows) {
      const cell = storedAt(this.#file, at)
      if (cell !== undefined && isCollected(cell, now)) cells.remove(at)
    }
    return rows
  }
}
