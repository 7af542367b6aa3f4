/**
 * A pane as rows that can be replaced without being read: aligned runs of 64, 16, 4 or 1 buckets, all of one clock. Rows of
 * unequal lengths may overlap: per bucket the newest clock counts, and readers merge.
 */
import type { Interval } from '../../core/interval.ts'
import { clockOf, type Pane, slice } from '../../core/pane.ts'
import { join } from '../../core/pane-join.ts'
import { clip, consolidate } from '../tile.ts'
import type { DatedRowId } from './row-engine.ts'

/** Engines may derive from it which rows can begin where. */
export const rowLengths = [64, 16, 4, 1] as const
const longestRow = rowLengths[0]

/** Longer values come near the item limits of engines, and a refresh of one bucket must not be behind megabytes. */
const targetRowBytes = 256 * 1024

export interface Piece extends DatedRowId {
  /** Has a body of its own. */
  readonly pane: Pane
}

/** The longest rows that a pane can be cut into. Absent buckets are left out. */
export function piecesOf(pane: Pane): Piece[] {
  const perBucket = pane.body.bytes.byteLength / Math.max(1, pane.body.buckets)
  const lengths = rowLengths.filter((length) => length === 1 || length * perBucket <= targetRowBytes)
  const pieces: Piece[] = []
  for (let from = pane.from; from < pane.to; ) {
    const clock = clockOf(pane, from)
    if (Number.isNaN(clock)) {
      from++
      continue
    }
    const room = runLength(pane, from, clock)
    const buckets = lengths.find((length) => length <= room && from % length === 0)!
    pieces.push({ from, buckets, clock, pane: join([slice(pane, { from, to: from + buckets })]) })
    from += buckets
  }
  return pieces
}

/** How many buckets from `from` on have the same clock; no more than the longest row holds. */
function runLength(pane: Pane, from: number, clock: number): number {
  const end = Math.min(pane.to, from + longestRow)
  let to = from + 1
  while (to < end && clockOf(pane, to) === clock) to++
  return to - from
}

const blockOf = (bucket: number): number => Math.floor(bucket / longestRow)

/** Where the rows that reach into an interval begin. */
export const rowsAround = ({ from, to }: Interval): Interval => ({ from: blockOf(from) * longestRow, to })

/** Panes of rows, in the order of their first buckets, as disjoint panes inside an interval: per bucket the newest. */
export function mergePieces(rows: readonly Pane[], interval: Interval): Pane[] {
  const blocks = Map.groupBy(rows, ({ from }) => blockOf(from))
  const parts = [...blocks].flatMap(([block, panes]) => mergeBlock(panes, block * longestRow))
  return consolidate(clip(parts, interval))
}

function mergeBlock(panes: readonly Pane[], start: number): Pane[] {
  const newest: (Pane | undefined)[] = Array.from({ length: longestRow })
  for (const pane of panes) {
    for (let bucket = pane.from; bucket < pane.to; bucket++) {
      const other = newest[bucket - start]
      if (other === undefined || clockOf(pane, bucket) > clockOf(other, bucket)) newest[bucket - start] = pane
    }
  }
  const parts: Pane[] = []
  for (let at = 0; at < longestRow; ) {
    const pane = newest[at]
    let to = at + 1
    while (to < longestRow && newest[to] === pane) to++
    if (pane !== undefined) parts.push(slice(pane, { from: start + at, to: start + to }))
    at = to
  }
  return parts
}
