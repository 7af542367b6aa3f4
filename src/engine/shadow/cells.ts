/** Compares two panes: which buckets differ, in which columns, and the values of each. */
import { type Pane, slice } from '../../core/pane.ts'
import { compare } from '../../core/pane-compare.ts'
import { type ColumnMerge, columnIn, mergeColumns } from '../../core/pane-merge.ts'
import { headBytes } from '../../core/pane-rows.ts'

/** One column's part of one bucket, with unequal bytes. */
export interface CellDifference {
  /** The column's head, cut where it is long. */
  readonly column: string
  /** '' where it has no bytes. */
  readonly stored: string
  readonly fetched: string
  /** One of the panes has no bytes of this column in any bucket that they share. */
  readonly isLoneColumn: boolean
}

/** Enough for the decision; reports are shorter still. */
const maxCellChars = 4096
const maxCells = 64

export class PanePair {
  readonly #panes: readonly [Pane, Pane]
  readonly #merge: ColumnMerge

  /** `fetched` covers `stored`. */
  constructor(stored: Pane, fetched: Pane) {
    this.#panes = [stored, slice(fetched, stored)]
    this.#merge = mergeColumns(this.#panes)
  }

  /** In time order. */
  differing(): readonly number[] {
    return compare(...this.#panes)
  }

  /** The differences in a bucket, in at most this many columns. */
  cellsAt(bucket: number): CellDifference[] {
    const cells: CellDifference[] = []
    for (let row = 0; row < this.#merge.count && cells.length < maxCells; row++) {
      const columns = [0, 1].map((side) => columnIn(this.#merge, 2, row, side))
      const [stored, fetched] = [0, 1].map((side) => this.#textAt(side, columns[side]!, bucket))
      if (stored === fetched) continue
      const isLoneColumn = [0, 1].some((side) => !this.#hasBytes(side, columns[side]!))
      cells.push({ column: this.#headOf(columns), stored: stored!, fetched: fetched!, isLoneColumn })
    }
    return cells
  }

  /** How many columns have bytes in a bucket, in one of the panes or in both. */
  columnsAt(bucket: number): number {
    let count = 0
    for (let row = 0; row < this.#merge.count; row++) {
      const hasBytes = (side: number) =>
        this.#textAt(side, columnIn(this.#merge, 2, row, side), bucket) !== ''
      if (hasBytes(0) || hasBytes(1)) count++
    }
    return count
  }

  #textAt(side: number, column: number, bucket: number): string {
    if (column < 0) return ''
    const { body } = this.#panes[side]!
    let text = ''
    for (let lane = 0; lane < body.lanes; lane++) {
      const start = body.slabAt + body.offsetOf(column, lane, bucket)
      const end = body.slabAt + body.offsetOf(column, lane, bucket + 1)
      text += body.bytes.toString('utf8', start, Math.min(end, start + maxCellChars))
    }
    return text
  }

  #hasBytes(side: number, column: number): boolean {
    if (column < 0) return false
    const { body, from, to } = this.#panes[side]!
    for (let lane = 0; lane < body.lanes; lane++) {
      if (body.offsetOf(column, lane, to) > body.offsetOf(column, lane, from)) return true
    }
    return false
  }

  #headOf(columns: readonly number[]): string {
    const side = columns[0]! < 0 ? 1 : 0
    return headBytes(this.#panes[side]!, columns[side]!).toString('utf8', 0, 512)
  }
}
