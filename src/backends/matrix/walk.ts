/** Reports the parts of the series of a matrix answer, in the order in which recompose writes them. */
import type { Pane, PaneBody } from '../../core/pane.ts'
import { type ColumnMerge, columnIn } from '../../core/pane-merge.ts'
import type { AnswerListener, Run } from '../backend.ts'
import { openings } from './wire.ts'

export interface Rows {
  readonly panes: readonly Pane[]
  readonly merge: ColumnMerge
  readonly lanes: readonly number[]
}

/** Series without a point in the window are left out. */
export function walkRows(rows: Rows, listener: AnswerListener): void {
  const walker = new RowWalker(rows, listener)
  let isFirst = true
  for (let row = 0; row < rows.merge.count; row++) {
    if (walker.walk(row, isFirst)) isFirst = false
  }
}

const separator = Buffer.from(',')
const laneEnd = Buffer.from(']')
const seriesEnd = Buffer.from('}')

class RowWalker {
  readonly #rows: Rows
  readonly #listener: AnswerListener
  /** One for all: there are as many runs as series and panes. */
  readonly #run: { -readonly [Name in keyof Run]: Run[Name] }
  #row = 0
  #isFirst = true
  #hasHead = false

  constructor(rows: Rows, listener: AnswerListener) {
    this.#rows = rows
    this.#listener = listener
    this.#run = { body: rows.panes[0]?.body as PaneBody, column: 0, lane: 0, from: 0, to: 0, end: 0 }
  }

  /** Returns false where the series has no point. */
  walk(row: number, isFirst: boolean): boolean {
    this.#row = row
    this.#isFirst = isFirst
    this.#hasHead = false
    for (let l = 0; l < this.#rows.lanes.length; l++) this.#lane(this.#rows.lanes[l]!)
    if (this.#hasHead) this.#literal(seriesEnd)
    return this.#hasHead
  }

  #lane(lane: number): void {
    const last = this.#lastFilled(lane)
    if (last < 0) return
    const run = this.#run
    let isOpen = false
    for (let i = 0; i <= last; i++) {
      const pane = this.#rows.panes[i]!
      const column = this.#columnIn(i)
      if (column < 0 || isEmpty(pane, column, lane)) continue
      if (!this.#hasHead) this.#head(pane.body, column)
      if (!isOpen) this.#literal(openings[lane]!)
      isOpen = true
      run.body = pane.body
      run.column = column
      run.lane = lane
      run.from = pane.from
      run.to = pane.to
      // The separator behind the last point becomes the bracket that closes the list.
      run.end = pane.body.offsetOf(column, lane, pane.to) - (i === last ? 1 : 0)
      this.#listener.run(run)
    }
    this.#literal(laneEnd)
  }

  #head(body: PaneBody, column: number): void {
    if (!this.#isFirst) this.#literal(separator)
    const record = body.columnsAt + column * body.stride
    const [start, end] = [body.u32[record]!, body.u32[record + 1]!]
    this.#listener.literal(body.bytes, body.slabAt + start, body.slabAt + end)
    this.#hasHead = true
  }

  #lastFilled(lane: number): number {
    for (let i = this.#rows.panes.length - 1; i >= 0; i--) {
      const column = this.#columnIn(i)
      if (column >= 0 && !isEmpty(this.#rows.panes[i]!, column, lane)) return i
    }
    return -1
  }

  #columnIn(pane: number): number {
    return columnIn(this.#rows.merge, this.#rows.panes.length, this.#row, pane)
  }

  #literal(bytes: Uint8Array): void {
    this.#listener.literal(bytes, 0, bytes.length)
  }
}

const isEmpty = ({ body, from, to }: Pane, column: number, lane: number): boolean =>
  body.offsetOf(column, lane, from) === body.offsetOf(column, lane, to)
