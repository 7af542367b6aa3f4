/** Puts a matrix answer together from panes: one copy per column, lane and pane, of the database's own bytes. */
import type { Pane, PaneBody } from '../../core/pane.ts'
import { usedNoteSets } from '../../core/pane-join.ts'
import { type ColumnMerge, columnIn, mergeColumns } from '../../core/pane-merge.ts'
import type { Recomposed, RecomposeOptions } from '../backend.ts'
import { writeAnnotations } from './annotations.ts'
import { envelope } from './decompose.ts'

const openings = [Buffer.from(',"values":['), Buffer.from(',"histograms":[')] as const
const comma = 0x2c
const closingBracket = 0x5d
const closingBrace = 0x7d

export function recompose(panes: readonly Pane[], options?: RecomposeOptions): Recomposed {
  return new MatrixAnswer(panes, options?.warnings ?? [])
}

class MatrixAnswer implements Recomposed {
  readonly length: number
  readonly #panes: readonly Pane[]
  readonly #merge: ColumnMerge
  readonly #trailer: Buffer

  constructor(panes: readonly Pane[], warnings: readonly string[]) {
    this.#panes = panes
    this.#merge = mergeColumns(panes)
    this.#trailer = trailerOf(panes, warnings)
    this.length = this.#measure()
  }

  #measure(): number {
    let total = envelope.length + this.#trailer.length
    let series = 0
    for (let row = 0; row < this.#merge.count; row++) {
      const bytes = this.#measureRow(row)
      if (bytes > 0) series++
      total += bytes
    }
    return total + Math.max(0, series - 1)
  }

  #measureRow(row: number): number {
    let total = 0
    let head = 0
    for (let lane = 0; lane < openings.length; lane++) {
      let bytes = 0
      for (let i = 0; i < this.#panes.length; i++) {
        const pane = this.#panes[i]!
        const column = columnIn(this.#merge, this.#panes.length, row, i)
        if (column < 0) continue
        const piece = pane.body.offsetOf(column, lane, pane.to) - pane.body.offsetOf(column, lane, pane.from)
        if (piece > 0 && head === 0) head = headLength(pane.body, column)
        bytes += piece
      }
      if (bytes > 0) total += openings[lane]!.length + bytes
    }
    return total > 0 ? total + head + 1 : 0
  }

  write(target: Uint8Array): void {
    let at = envelope.copy(target)
    const begin = at
    for (let row = 0; row < this.#merge.count; row++) {
      const next = this.#writeRow(target, at === begin ? at : at + 1, row)
      if (next < 0) continue
      if (at !== begin) target[at] = comma
      at = next
    }
    put(target, at, this.#trailer)
  }

  /** Writes one series at `start` and returns its end, or -1 where it has no point in the window. */
  #writeRow(target: Uint8Array, start: number, row: number): number {
    let at = start
    const count = this.#panes.length
    for (let lane = 0; lane < openings.length; lane++) {
      let isOpen = false
      for (let i = 0; i < count; i++) {
        const column = columnIn(this.#merge, count, row, i)
        if (column < 0) continue
        const { body, from, to } = this.#panes[i]!
        const pieceStart = body.offsetOf(column, lane, from)
        const pieceEnd = body.offsetOf(column, lane, to)
        if (pieceStart === pieceEnd) continue
        if (at === start) at = putHead(target, at, { body, column })
        if (!isOpen) at = put(target, at, openings[lane]!)
        isOpen = true
        body.bytes.copy(target, at, body.slabAt + pieceStart, body.slabAt + pieceEnd)
        at += pieceEnd - pieceStart
      }
      // The separator behind the last point becomes the bracket that closes the list.
      if (isOpen) target[at - 1] = closingBracket
    }
    if (at === start) return -1
    target[at] = closingBrace
    return at + 1
  }
}

const listEnd = Buffer.from(']}')
const objectEnd = Buffer.from('}')
const bareTrailer = Buffer.from(']}}')

function trailerOf(panes: readonly Pane[], warnings: readonly string[]): Buffer {
  const hasNotes = panes.some((pane) => pane.body.noteIndexAt > 0)
  if (!hasNotes && warnings.length === 0) return bareTrailer
  return Buffer.concat([listEnd, writeAnnotations(notesOf(panes), warnings), objectEnd])
}

function notesOf(panes: readonly Pane[]): Set<string> {
  const notes = new Set<string>()
  for (const pane of panes) {
    if (pane.body.noteIndexAt === 0) continue
    const sets = pane.body.notes
    for (const index of usedNoteSets(pane)) for (const note of sets[index]!) notes.add(note)
  }
  return notes
}

function headLength(body: PaneBody, column: number): number {
  const record = body.columnsAt + column * body.stride
  return body.u32[record + 1]! - body.u32[record]!
}

function putHead(
  target: Uint8Array,
  at: number,
  { body, column }: { body: PaneBody; column: number },
): number {
  const record = body.columnsAt + column * body.stride
  const start = body.slabAt + body.u32[record]!
  const end = body.slabAt + body.u32[record + 1]!
  body.bytes.copy(target, at, start, end)
  return at + end - start
}

/** Short constants: a loop is quicker than a call into the runtime. */
function put(target: Uint8Array, at: number, bytes: Uint8Array): number {
  for (let i = 0; i < bytes.length; i++) target[at + i] = bytes[i]!
  return at + bytes.length
}
