/**
 * Which column of which pane belongs together: columns are equal iff their ranks are equal, and the merged order is
 * rank order. Join and every backend's recompose walk the result; nothing here looks at heads or values.
 */
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
  if (panes.every((pane) => haveSameRanks(pane.body, first.body))) {
    return { count: first.body.columns, indexes: undefined }
  }
  return mergeUnequal(panes)
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
  return a.bytes.compare(b.bytes, b.ranksAt, b.frameAt, a.ranksAt, a.frameAt) === 0
}

function mergeUnequal(panes: readonly Pane[]): ColumnMerge {
  const width = panes.length
  const capacity = panes.reduce((sum, pane) => sum + pane.body.columns, 0)
  const indexes = new Int32Array(capacity * width).fill(-1)
  const cursors = new Int32Array(width)
  let count = 0
  for (;;) {
    const smallest = smallestRank(panes, cursors)
    if (smallest < 0) break
    takeEqual(panes, cursors, { smallest, indexes, at: count * width })
    count++
  }
  return { count, indexes: indexes.subarray(0, count * width) }
}

/** The pane whose next column has the smallest rank, or -1 when all are used up. */
function smallestRank(panes: readonly Pane[], cursors: Int32Array): number {
  let smallest = -1
  for (let i = 0; i < panes.length; i++) {
    if (cursors[i]! >= panes[i]!.body.columns) continue
    if (smallest < 0 || compareRanks(panes, cursors, [i, smallest]) < 0) smallest = i
  }
  return smallest
}

function takeEqual(
  panes: readonly Pane[],
  cursors: Int32Array,
  row: { smallest: number; indexes: Int32Array; at: number },
): void {
  const own = cursors[row.smallest]!
  for (let i = 0; i < panes.length; i++) {
    if (i === row.smallest || cursors[i]! >= panes[i]!.body.columns) continue
    if (compareRanks(panes, cursors, [i, row.smallest]) !== 0) continue
    row.indexes[row.at + i] = cursors[i]!++
  }
  row.indexes[row.at + row.smallest] = own
  cursors[row.smallest] = own + 1
}

function compareRanks(
  panes: readonly Pane[],
  cursors: Int32Array,
  [i, j]: readonly [number, number],
): number {
  const a = panes[i]!.body
  const b = panes[j]!.body
  const ca = cursors[i]!
  const cb = cursors[j]!
  return a.bytes.compare(b.bytes, b.rankStart(cb), b.rankEnd(cb), a.rankStart(ca), a.rankEnd(ca))
}
