/**
 * Which column of which pane belongs together: columns are equal iff their ranks are equal, and the merged order is
 * rank order. Join and every backend's recompose walk the result; nothing here looks at heads or values.
 */
import { compareBytes } from './bytes.ts'
import type { Pane, PaneBody } from './pane.ts'

export interface ColumnMerge {
  readonly count: number
  /** Per merged column and pane the column's index in that pane, or -1; undefined where all indexes are equal. */
  readonly indexes: Int32Array | undefined
}

/** Merges the columns of panes by rank. */
export function mergeColumns(panes: readonly Pane[]): ColumnMerge {
  const first = panes[0]
  if (first === undefined) return { count: 0, indexes: undefined }
  for (let i = 1; i < panes.length; i++) {
    if (!haveSameRanks(panes[i]!.body, first.body)) return mergeUnequal(panes)
  }
  return { count: first.body.columns, indexes: undefined }
}

export const columnIn = (merge: ColumnMerge, panes: number, row: number, pane: number): number =>
  merge.indexes === undefined ? row : merge.indexes[row * panes + pane]!

/** A dashboard's series rarely change: one comparison of the whole rank section replaces one per column. */
function haveSameRanks(a: PaneBody, b: PaneBody): boolean {
  if (a === b) return true
  if (a.columns !== b.columns || a.frameAt - a.ranksAt !== b.frameAt - b.ranksAt) return false
  for (let column = 0; column < a.columns; column++) {
    if (a.rankEnd(column) - a.ranksAt !== b.rankEnd(column) - b.ranksAt) return false
  }
  return (
    compareBytes(
      { bytes: a.bytes, start: a.ranksAt, end: a.frameAt },
      { bytes: b.bytes, start: b.ranksAt, end: b.frameAt },
    ) === 0
  )
}

function mergeUnequal(panes: readonly Pane[]): ColumnMerge {
  const width = panes.length
  const capacity = panes.reduce((sum, pane) => sum + pane.body.columns, 0)
  const indexes = new Int32Array(capacity * width).fill(-1)
  const queue = new RankQueue(panes)
  let count = 0
  while (!queue.isEmpty) {
    queue.popSmallest(indexes, count * width)
    count++
  }
  return { count, indexes: indexes.subarray(0, count * width) }
}

/** The next column of every pane, in rank order: taking one costs about log2(panes) comparisons. */
class RankQueue {
  readonly #bodies: readonly PaneBody[]
  readonly #cursors: Int32Array
  /** Panes in the order of their next rank; a tie has the same rank as the one before it. */
  readonly #order: Int32Array
  readonly #isTie: Uint8Array
  readonly #taken: Int32Array
  /** Bytes that all ranks begin with (often the metric's name): they need no comparing. */
  readonly #prefix: number
  #size = 0

  constructor(panes: readonly Pane[]) {
    this.#bodies = panes.map((pane) => pane.body)
    this.#cursors = new Int32Array(panes.length)
    this.#order = new Int32Array(panes.length)
    this.#isTie = new Uint8Array(panes.length)
    this.#taken = new Int32Array(panes.length)
    this.#prefix = commonPrefix(this.#bodies)
    for (let pane = 0; pane < panes.length; pane++) this.#insert(pane)
  }

  get isEmpty(): boolean {
    return this.#size === 0
  }

  /** Moves every column with the smallest rank into its pane's place in a row of indexes. */
  popSmallest(indexes: Int32Array, row: number): void {
    let count = 1
    while (count < this.#size && this.#isTie[count] === 1) count++
    for (let i = 0; i < count; i++) this.#taken[i] = this.#order[i]!
    this.#size -= count
    for (let i = 0; i < this.#size; i++) this.#move(i + count, i)
    for (let i = 0; i < count; i++) {
      const pane = this.#taken[i]!
      indexes[row + pane] = this.#cursors[pane]!++
      this.#insert(pane)
    }
  }

  #insert(pane: number): void {
    if (this.#cursors[pane]! >= this.#bodies[pane]!.columns) return
    let low = 0
    let high = this.#size
    let isTie = false
    while (low < high && !isTie) {
      const middle = (low + high) >>> 1
      const order = this.#compare(pane, this.#order[middle]!)
      isTie = order === 0
      if (order < 0) high = middle
      else low = middle + 1
    }
    for (let i = this.#size++; i > low; i--) this.#move(i - 1, i)
    this.#order[low] = pane
    this.#isTie[low] = isTie ? 1 : 0
  }

  #move(from: number, to: number): void {
    this.#order[to] = this.#order[from]!
    this.#isTie[to] = this.#isTie[from]!
  }

  #compare(left: number, right: number): number {
    const a = this.#bodies[left]!
    const b = this.#bodies[right]!
    const aStart = a.rankStart(this.#cursors[left]!) + this.#prefix
    const aEnd = a.rankEnd(this.#cursors[left]!)
    const bStart = b.rankStart(this.#cursors[right]!) + this.#prefix
    const bEnd = b.rankEnd(this.#cursors[right]!)
    return compareBytes(
      { bytes: a.bytes, start: aStart, end: aEnd },
      { bytes: b.bytes, start: bStart, end: bEnd },
    )
  }
}

/** Ranks are sorted: a prefix of the first and the last is a prefix of all. */
function commonPrefix(bodies: readonly PaneBody[]): number {
  const filled = bodies.filter((body) => body.columns > 0)
  const ends = filled.flatMap((body) => [
    body.bytes.subarray(body.rankStart(0), body.rankEnd(0)),
    body.bytes.subarray(body.rankStart(body.columns - 1), body.rankEnd(body.columns - 1)),
  ])
  let length = Math.min(...ends.map((rank) => rank.length))
  for (const rank of ends) {
    let same = 0
    while (same < length && rank[same] === ends[0]![same]) same++
    length = same
  }
  return length
}
