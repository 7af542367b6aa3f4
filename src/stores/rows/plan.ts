/**
 * How a written pane becomes rows. Buckets are in aligned blocks, and no row crosses the end of its block, so that a
 * read knows where to begin. Within a block, settled buckets are gathered in one value. Unsettled buckets, which the
 * next refresh replaces, have short rows of their own, so that a refresh of the tail does not rewrite a block; they
 * join their block in batches once they have settled. Pure: an engine loads, removes and puts rows as planned here.
 */
import type { EpochMs } from '../../core/clock.ts'
import type { Interval } from '../../core/interval.ts'
import { type Pane, slice } from '../../core/pane.ts'
import { join } from '../../core/pane-join.ts'
import { layOver, newestClock } from '../tile.ts'
import type { RowRef } from './row-key.ts'

export const blockBuckets = 128
/** Longer values fragment an LMDB file, whose pages must be adjacent, and come near the item limits of other engines. */
const targetRowBytes = 256 * 1024
/** More adjacent rows of a kind than this are gathered into one. */
const maxRowsSideBySide = 8

export interface RowSource {
  /** Stored clocks ahead of this instant are ignored; see tile.ts. */
  readonly now: EpochMs
  /** The pane in a row; undefined where it is damaged. */
  load(row: RowRef): Pane | undefined
  isSettled(pane: Pane, bucket: number): boolean
}

export interface NewRow {
  readonly ref: RowRef
  readonly pane: Pane
}

export interface RowChanges {
  readonly remove: readonly RowRef[]
  readonly put: readonly NewRow[]
}

export const blockStart = (bucket: number): number => Math.floor(bucket / blockBuckets) * blockBuckets

/** The whole blocks that an interval touches: every row that reaches into the interval begins in them. */
export const blocksAround = ({ from, to }: Interval): Interval => ({
  from: blockStart(from),
  to: blockStart(to - 1) + blockBuckets,
})

/**
 * Panes of rows in time order. Rows never overlap; should a damaged engine return overlapping ones, the newer buckets
 * win.
 */
export function tiled(panes: readonly Pane[]): readonly Pane[] {
  const isTiled = panes.every((pane, i) => i === 0 || panes[i - 1]!.to <= pane.from)
  return isTiled ? panes : panes.reduce<Pane[]>((stored, pane) => layOver(stored, pane), [])
}

/** `stored`: the rows of the blocks that the pane touches, in time order. */
export function planRows(stored: readonly RowRef[], pane: Pane, source: RowSource): RowChanges {
  const remove: RowRef[] = []
  const put: NewRow[] = []
  for (let from = blockStart(pane.from); from < pane.to; from += blockBuckets) {
    const block = { from, to: from + blockBuckets }
    const part = slice(pane, block)
    if (part.from >= part.to) continue
    const rows = stored.filter((row) => row.from >= block.from && row.from < block.to)
    const changes = planBlock(rows, part, source)
    remove.push(...changes.remove)
    put.push(...changes.put)
  }
  return { remove, put }
}

function planBlock(rows: readonly RowRef[], part: Pane, source: RowSource): RowChanges {
  const touched = rows.filter((row) => row.from < part.to && row.to > part.from)
  const below = touched.map((row) => source.load(row)).filter((pane) => pane !== undefined)
  const pieces = layOver(tiled(below), part, source.now).flatMap((pane) => piecesOf(pane, source))
  const resting = rows.filter((row) => !touched.includes(row))
  const { remove, put } = gather(resting, pieces.map(newRow(source)), source)
  return { remove: [...touched, ...remove], put }
}

/** Runs of settled and of unsettled buckets, each no longer than a row should be. */
function piecesOf(pane: Pane, source: RowSource): Pane[] {
  const pieces: Pane[] = []
  for (let from = pane.from; from < pane.to; ) {
    const isSettled = source.isSettled(pane, from)
    let to = from + 1
    while (to < pane.to && source.isSettled(pane, to) === isSettled) to++
    pieces.push(...shortEnough(ownBody(slice(pane, { from, to }))))
    from = to
  }
  return pieces
}

const ownBody = (pane: Pane): Pane =>
  pane.from === pane.body.from && pane.to - pane.from === pane.body.buckets ? pane : join([pane])

function shortEnough(pane: Pane): Pane[] {
  const parts = Math.ceil(pane.body.bytes.byteLength / targetRowBytes)
  const length = Math.ceil((pane.to - pane.from) / parts)
  if (length >= pane.to - pane.from) return [pane]
  const pieces: Pane[] = []
  for (let from = pane.from; from < pane.to; from += length)
    pieces.push(ownBody(slice(pane, { from, to: from + length })))
  return pieces
}

const newRow =
  (source: RowSource) =>
  (pane: Pane): NewRow => ({
    pane,
    ref: {
      from: pane.from,
      to: pane.to,
      newest: Math.ceil(newestClock(pane)),
      isSettled: source.isSettled(pane, pane.from),
      bytes: pane.body.bytes.byteLength,
    },
  })

interface Piece {
  readonly ref: RowRef
  /** Undefined for a row that is stored already. */
  readonly pane?: Pane
}

/** Puts the fresh rows, and removes those of the resting ones whose buckets went into a new row. */
function gather(resting: readonly RowRef[], fresh: readonly NewRow[], source: RowSource): RowChanges {
  const all: Piece[] = [...resting.map((ref) => ({ ref })), ...fresh].sort((a, b) => a.ref.from - b.ref.from)
  const remove: RowRef[] = []
  const put: NewRow[] = []
  for (const run of runsOf(all)) {
    const panes = isWorthGathering(run)
      ? run.map((piece) => piece.pane ?? source.load(piece.ref))
      : [undefined]
    if (panes.every((pane) => pane !== undefined)) {
      remove.push(...run.filter((piece) => piece.pane === undefined).map(({ ref }) => ref))
      put.push(newRow(source)(join(panes)))
    } else {
      put.push(...run.filter((piece): piece is NewRow => piece.pane !== undefined))
    }
  }
  return { remove, put }
}

/** Adjacent rows of one kind that fit into one value. */
function runsOf(pieces: readonly Piece[]): Piece[][] {
  const runs: Piece[][] = []
  let bytes = 0
  for (const piece of pieces) {
    const last = runs.at(-1)?.at(-1)?.ref
    const isNext = last !== undefined && last.to === piece.ref.from && last.isSettled === piece.ref.isSettled
    bytes = isNext ? bytes + piece.ref.bytes : piece.ref.bytes
    if (isNext && bytes <= targetRowBytes) runs.at(-1)!.push(piece)
    else {
      runs.push([piece])
      bytes = piece.ref.bytes
    }
  }
  return runs
}

function isWorthGathering(run: readonly Piece[]): boolean {
  if (run.length < 2) return false
  const span = run.at(-1)!.ref.to - run[0]!.ref.from
  return run.length > maxRowsSideBySide || span === blockBuckets
}

export const isOverlapping = (row: Interval, interval: Interval): boolean =>
  row.from < interval.to && row.to > interval.from
