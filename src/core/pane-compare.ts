/** Compares the content of the buckets that two panes share. */
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
      noteDifferences(differs, [a, b], { columns, lane, from })
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

interface LaneRange {
  readonly columns: readonly [number, number]
  readonly lane: number
  /** The bucket of the first entry. */
  readonly from: number
}

/** Allocates nothing, and compares short pieces byte by byte, because a native call costs more than most of them are long. */
function noteDifferences(differs: Uint8Array, [a, b]: readonly [Pane, Pane], range: LaneRange): void {
  const { columns, lane, from } = range
  const [aBytes, bBytes] = [a.body.bytes, b.body.bytes]
  let aStart = startIn(a, columns[0], lane, from)
  let bStart = startIn(b, columns[1], lane, from)
  for (let i = 0; i < differs.length; i++) {
    const aEnd = startIn(a, columns[0], lane, from + i + 1)
    const bEnd = startIn(b, columns[1], lane, from + i + 1)
    const length = aEnd - aStart
    if (length !== bEnd - bStart) differs[i] = 1
    else if (differs[i] === 0) {
      let at = 0
      while (at < length && aBytes[aStart + at] === bBytes[bStart + at]) at++
      if (at < length) differs[i] = 1
    }
    aStart = aEnd
    bStart = bEnd
  }
}

/** Where a bucket's bytes begin; the same place for every bucket of a column that the pane does not have. */
const startIn = ({ body }: Pane, column: number, lane: number, bucket: number): number =>
  column < 0 ? 0 : body.slabAt + body.offsetOf(column, lane, bucket)
