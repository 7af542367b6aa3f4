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

/** Each call goes on where the one before ended. Rejects where the file cannot be written. */
export function cellCollection(file: StoreFile, clock: Clock): () => Promise<void> {
  // The last row that was looked at; this one is before all others.
  let last: Buffer = revisionAt
  const collectSome = (): readonly Buffer[] => {
    const { cells } = file.tables
    const now = clock.now()
    const behind = Buffer.concat([last, Buffer.of(0)])
    const rows = [...cells.getKeys({ start: behind, end, limit: rowsAtOnce })]
    for (const at of rows) {
      const cell = storedAt(file, at)
      if (cell !== undefined && isCollected(cell, now)) cells.remove(at)
    }
    return rows
  }
  return async () => {
    for (let looked = 0; looked < rowsPerRound; looked += rowsAtOnce) {
      const rows = await file.change(0, collectSome)
      const isEnd = rows.length < rowsAtOnce
      last = isEnd ? revisionAt : rows.at(-1)!
      if (isEnd) break
    }
  }
}
