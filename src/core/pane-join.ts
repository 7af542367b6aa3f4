/** Joins panes of one key into a new pane with a body of its own. */
import { allocateBody, type NoteSet, type Pane, type PaneBody, paneOf } from './pane.ts'
import { type ColumnMerge, columnIn, mergeColumns } from './pane-merge.ts'

/**
 * One pane over everything from the first pane's beginning to the last one's end. The panes are disjoint, in time
 * order and of equal frame; buckets between them are absent. Columns without bytes are left out.
 */
export function join(panes: readonly Pane[]): Pane {
  const first = panes[0]!
  const plan = new JoinPlan(panes, mergeColumns(panes))
  const { sets, indexes } = mergeNotes(panes)
  const body = allocateBody({
    from: first.from,
    buckets: panes[panes.length - 1]!.to - first.from,
    columns: plan.columns,
    lanes: first.body.lanes,
    tableLength: plan.tableLength,
    rankBytes: plan.rankBytes,
    frame: first.body.frame,
    notes: sets,
    slabBytes: plan.slabBytes,
  })
  copyClocks(panes, body)
  if (body.noteIndexAt > 0) copyNoteIndex(panes, body, indexes)
  plan.fill(body)
  body.origins = panes
    .filter((_, i) => plan.hasColumnsOf(i))
    .map((pane) => ({ id: pane.body.id, from: pane.from, to: pane.to }))
  return paneOf(body)
}

export function haveSameFrame(a: Pane, b: Pane): boolean {
  return a.body === b.body || (a.body.lanes === b.body.lanes && a.body.frame.equals(b.body.frame))
}

function copyClocks(panes: readonly Pane[], body: PaneBody): void {
  body.f64.fill(Number.NaN, body.clocksAt, body.clocksAt + body.buckets)
  for (const pane of panes) {
    const start = pane.body.clocksAt + pane.from - pane.body.from
    body.f64.set(
      pane.body.f64.subarray(start, start + pane.to - pane.from),
      body.clocksAt + pane.from - body.from,
    )
  }
}

interface MergedNotes {
  readonly sets: readonly NoteSet[]
  /** Per pane: the new index (+ 1) of each of its old sets. */
  readonly indexes: readonly (readonly number[])[]
}

/** Equal sets of different panes become one, in the order of first use; sets that no bucket uses are dropped. */
function mergeNotes(panes: readonly Pane[]): MergedNotes {
  const sets: NoteSet[] = []
  const known = new Map<string, number>()
  const indexes = panes.map((pane) => {
    const own = pane.body.notes
    const index = own.map(() => 0)
    for (const old of usedNoteSets(pane)) {
      const text = JSON.stringify(own[old])
      index[old] = known.get(text) ?? sets.push(own[old]!)
      known.set(text, index[old])
    }
    return index
  })
  return { sets, indexes }
}

/** Indexes of the note sets that a pane's buckets refer to, in the order of first use. */
export function usedNoteSets(pane: Pane): Set<number> {
  const used = new Set<number>()
  const { body } = pane
  if (body.noteIndexAt === 0) return used
  for (let bucket = pane.from; bucket < pane.to; bucket++) {
    const index = body.u32[body.noteIndexAt + bucket - body.from]!
    if (index > 0) used.add(index - 1)
  }
  return used
}

function copyNoteIndex(panes: readonly Pane[], body: PaneBody, indexes: MergedNotes['indexes']): void {
  body.u32.fill(0, body.noteIndexAt, body.noteIndexAt + body.buckets)
  panes.forEach((pane, i) => {
    if (pane.body.noteIndexAt === 0) return
    for (let bucket = pane.from; bucket < pane.to; bucket++) {
      const old = pane.body.u32[pane.body.noteIndexAt + bucket - pane.body.from]!
      if (old > 0) body.u32[body.noteIndexAt + bucket - body.from] = indexes[i]![old - 1]!
    }
  })
}

/** Two passes over the merged columns: the first measures, the second writes. */
class JoinPlan {
  columns = 0
  tableLength = 0
  rankBytes = 0
  slabBytes = 0
  readonly #panes: readonly Pane[]
  readonly #merge: ColumnMerge
  readonly #lanes: number
  /** Merged rows that have bytes in the joined range. */
  readonly #rows: number[] = []

  constructor(panes: readonly Pane[], merge: ColumnMerge) {
    this.#panes = panes
    this.#merge = merge
    this.#lanes = panes[0]!.body.lanes
    for (let row = 0; row < merge.count; row++) this.#measureRow(row)
  }

  #measureRow(row: number): void {
    let bytes = 0
    let entries = 0
    for (let lane = 0; lane < this.#lanes; lane++) {
      const span = this.#spanOf(row, lane)
      if (span.bytes === 0) continue
      bytes += span.bytes
      entries += span.to - span.from + 1
    }
    if (bytes === 0) return
    const [body, column] = this.#owner(row)
    const record = body.columnsAt + column * body.stride
    this.#rows.push(row)
    this.columns++
    this.tableLength += entries
    this.rankBytes += body.rankEnd(column) - body.rankStart(column)
    this.slabBytes += bytes + body.u32[record + 1]! - body.u32[record]!
  }

  /** Buckets from the first to the last with bytes in a row and lane, and how many bytes they have. */
  #spanOf(row: number, lane: number): { from: number; to: number; bytes: number } {
    let from = 0
    let to = 0
    let bytes = 0
    for (let i = 0; i < this.#panes.length; i++) {
      const pane = this.#panes[i]!
      const column = columnIn(this.#merge, this.#panes.length, row, i)
      if (column < 0) continue
      const length = pane.body.offsetOf(column, lane, pane.to) - pane.body.offsetOf(column, lane, pane.from)
      if (length === 0) continue
      if (bytes === 0) from = firstFilled(pane, column, lane)
      to = lastFilled(pane, column, lane) + 1
      bytes += length
    }
    return { from, to, bytes }
  }

  /** Whether every column of a pane is the joined pane's column of the same number. */
  hasColumnsOf(pane: number): boolean {
    return (
      this.#panes[pane]!.body.columns === this.columns &&
      this.#rows.every((row, column) => columnIn(this.#merge, this.#panes.length, row, pane) === column)
    )
  }

  #owner(row: number): [PaneBody, number] {
    for (let i = 0; ; i++) {
      const column = columnIn(this.#merge, this.#panes.length, row, i)
      if (column >= 0) return [this.#panes[i]!.body, column]
    }
  }

  fill(target: PaneBody): void {
    const at = { slab: 0, table: 0, rank: 0 }
    this.#rows.forEach((row, column) => {
      const [body, source] = this.#owner(row)
      const sourceRecord = body.columnsAt + source * body.stride
      const record = target.columnsAt + column * target.stride
      const headStart = body.slabAt + body.u32[sourceRecord]!
      const headEnd = body.slabAt + body.u32[sourceRecord + 1]!
      body.bytes.copy(target.bytes, target.slabAt + at.slab, headStart, headEnd)
      target.u32[record] = at.slab
      at.slab += headEnd - headStart
      target.u32[record + 1] = at.slab
      body.bytes.copy(target.bytes, target.ranksAt + at.rank, body.rankStart(source), body.rankEnd(source))
      at.rank += body.rankEnd(source) - body.rankStart(source)
      target.u32[record + 2] = at.rank
      for (let lane = 0; lane < this.#lanes; lane++) this.#fillLane(target, { row, column, lane }, at)
    })
  }

  #fillLane(
    target: PaneBody,
    place: { row: number; column: number; lane: number },
    at: { slab: number; table: number },
  ): void {
    const { from, to, bytes } = this.#spanOf(place.row, place.lane)
    const span = target.columnsAt + place.column * target.stride + 3 + 3 * place.lane
    target.u32[span] = bytes === 0 ? 0 : from - target.from
    target.u32[span + 1] = bytes === 0 ? 0 : to - from
    target.u32[span + 2] = at.table
    if (bytes === 0) return
    const table = target.tablesAt + at.table - from
    let next = from
    for (let i = 0; i < this.#panes.length; i++) {
      const pane = this.#panes[i]!
      const column = columnIn(this.#merge, this.#panes.length, place.row, i)
      if (column < 0) continue
      const start = pane.body.offsetOf(column, place.lane, pane.from)
      const end = pane.body.offsetOf(column, place.lane, pane.to)
      if (start === end) continue
      const until = Math.min(pane.to, to)
      const shift = at.slab - start
      // Buckets before this pane's own span, gaps between panes included, are empty and begin where it begins.
      for (; next < until; next++) {
        target.u32[table + next] =
          (next < pane.from ? start : pane.body.offsetOf(column, place.lane, next)) + shift
      }
      pane.body.bytes.copy(
        target.bytes,
        target.slabAt + at.slab,
        pane.body.slabAt + start,
        pane.body.slabAt + end,
      )
      at.slab += end - start
    }
    for (; next <= to; next++) target.u32[table + next] = at.slab
    at.table += to - from + 1
  }
}

/** The first bucket of a pane with bytes in a column and lane that has some: a slice may begin in a hole. */
function firstFilled({ body, from }: Pane, column: number, lane: number): number {
  const start = body.from + body.u32[body.columnsAt + column * body.stride + 3 + 3 * lane]!
  const offset = body.offsetOf(column, lane, from)
  let bucket = Math.max(from, start)
  while (body.offsetOf(column, lane, bucket + 1) === offset) bucket++
  return bucket
}

function lastFilled({ body, to }: Pane, column: number, lane: number): number {
  const span = body.columnsAt + column * body.stride + 3 + 3 * lane
  const end = body.from + body.u32[span]! + body.u32[span + 1]!
  const offset = body.offsetOf(column, lane, to)
  let bucket = Math.min(to, end) - 1
  while (body.offsetOf(column, lane, bucket) === offset) bucket--
  return bucket
}
