/** Compares what two panes say about the buckets they share. */
import { clockOf, type Pane } from './pane.ts'
import { columnIn, mergeColumns } from './pane-merge.ts'

/** The buckets that both panes hold and whose bytes differ, in time order. */
export function compare(a: Pane, b: Pane): number[] {
  const from = Math.max(a.from, b.from)
  const to = Math.min(a.to, b.to)
  if (from >= to) return []
  const panes = [a, b]
  const merge = mergeColumns(panes)
  const differs = new Uint8Array(to - from)
  for (let row = 0; row < merge.count; row++) {
    const columns = [columnIn(merge, 2, row, 0), columnIn(merge, 2, row, 1)] as const
    for (let lane = 0; lane < a.body.lanes; lane++) {
      if (isSameRun(panes, columns, { lane, from, to })) continue
      for (let bucket = from; bucket < to; bucket++) {
        if (!sameBytes(panes, columns, { lane, bucket })) differs[bucket - from] = 1
      }
    }
  }
  return Array.from(differs.keys())
    .map((index) => index + from)
    .filter((bucket) => differs[bucket - from] === 1 && isHeld(a, bucket) && isHeld(b, bucket))
}

/** Most columns are equal from end to end: one comparison of all their bytes, and one of where buckets begin in them. */
function isSameRun(
  panes: readonly Pane[],
  columns: readonly [number, number],
  { lane, from, to }: { lane: number; from: number; to: number },
): boolean {
  if (columns[0] < 0 || columns[1] < 0) return false
  const [a, b] = [panes[0]!.body, panes[1]!.body]
  const starts = [a.offsetOf(columns[0], lane, from), b.offsetOf(columns[1], lane, from)] as const
  const ends = [a.offsetOf(columns[0], lane, to), b.offsetOf(columns[1], lane, to)] as const
  if (ends[0] - starts[0] !== ends[1] - starts[1]) return false
  const [aAt, bAt] = [a.slabAt, b.slabAt]
  if (a.bytes.compare(b.bytes, bAt + starts[1], bAt + ends[1], aAt + starts[0], aAt + ends[0]) !== 0)
    return false
  const shift = starts[1] - starts[0]
  for (let bucket = from + 1; bucket < to; bucket++) {
    if (a.offsetOf(columns[0], lane, bucket) + shift !== b.offsetOf(columns[1], lane, bucket)) return false
  }
  return true
}

const isHeld = (pane: Pane, bucket: number): boolean => !Number.isNaN(clockOf(pane, bucket))

function sameBytes(
  panes: readonly Pane[],
  columns: readonly [number, number],
  { lane, bucket }: { lane: number; bucket: number },
): boolean {
  const [a, b] = [panes[0]!.body, panes[1]!.body]
  const [aStart, aEnd] = piece(panes[0]!, columns[0], { lane, bucket })
  const [bStart, bEnd] = piece(panes[1]!, columns[1], { lane, bucket })
  if (aEnd - aStart !== bEnd - bStart) return false
  return a.bytes.compare(b.bytes, bStart, bEnd, aStart, aEnd) === 0
}

function piece(pane: Pane, column: number, place: { lane: number; bucket: number }): [number, number] {
  if (column < 0) return [0, 0]
  const { body } = pane
  return [
    body.slabAt + body.offsetOf(column, place.lane, place.bucket),
    body.slabAt + body.offsetOf(column, place.lane, place.bucket + 1),
  ]
}
