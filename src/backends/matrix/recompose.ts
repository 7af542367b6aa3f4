/** Puts a matrix answer together from panes: one copy per column, lane and pane, of the database's own bytes. */
import type { Pane, PaneBody } from '../../core/pane.ts'
import { usedNoteSets } from '../../core/pane-join.ts'
import { type ColumnMerge, columnIn, mergeColumns } from '../../core/pane-merge.ts'
import type { AnswerListener, Recomposed, RecomposeOptions } from '../backend.ts'
import { distinct, writeAnnotations } from './annotations.ts'
import { walkRows } from './walk.ts'
import { envelope, envelopeWith, lineFeed, openings } from './wire.ts'

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
  readonly #envelope: Buffer
  readonly #trailer: Buffer
  readonly #lanes: readonly number[]

  constructor(panes: readonly Pane[], warnings: readonly string[]) {
    this.#panes = panes
    this.#merge = mergeColumns(panes)
    this.#lanes = usedLanes(panes)
    const { flag, endsLine } = frameOf(panes[0]?.body)
    this.#envelope = flag === '' ? envelope : envelopeWith(flag)
    this.#trailer = trailerOf(panes, warnings, endsLine)
    this.length = this.#measure()
  }

  get parts(): number {
    return this.#merge.count * this.#panes.length
  }

  #measure(): number {
    let total = this.#envelope.length + this.#trailer.length
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
    for (let l = 0; l < this.#lanes.length; l++) {
      const lane = this.#lanes[l]!
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
    let at = this.#envelope.copy(target)
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
    for (let l = 0; l < this.#lanes.length; l++) {
      const lane = this.#lanes[l]!
      let isOpen = false
      for (let i = 0; i < count; i++) {
        const column = columnIn(this.#merge, count, row, i)
        if (column < 0) continue
        const { body, from, to } = this.#panes[i]!
        let pieceStart = body.offsetOf(column, lane, from)
        const pieceEnd = body.offsetOf(column, lane, to)
        if (pieceStart === pieceEnd) continue
        if (at === start) {
          const record = body.columnsAt + column * body.stride
          const headStart = body.u32[record]!
          const headEnd = body.u32[record + 1]!
          isOpen = isLedInto(body, headEnd, { lane, pieceStart })
          // As the database wrote it: head, opening and points are one piece.
          if (isOpen) pieceStart = headStart
          else at += body.bytes.copy(target, at, body.slabAt + headStart, body.slabAt + headEnd)
        }
        if (!isOpen) at = put(target, at, openings[lane]!)
        isOpen = true
        at += body.bytes.copy(target, at, body.slabAt + pieceStart, body.slabAt + pieceEnd)
      }
      // The separator behind the last point becomes the bracket that closes the list.
      if (isOpen) target[at - 1] = closingBracket
    }
    if (at === start) return -1
    target[at] = closingBrace
    return at + 1
  }

  walk(listener: AnswerListener): void {
    listener.literal(this.#envelope, 0, this.#envelope.length)
    walkRows({ panes: this.#panes, merge: this.#merge, lanes: this.#lanes }, listener)
    listener.literal(this.#trailer, 0, this.#trailer.length)
  }
}

/** Whether a head is followed by nothing but the opening of a lane before the piece that is to be written. */
function isLedInto(
  body: PaneBody,
  headEnd: number,
  { lane, pieceStart }: { lane: number; pieceStart: number },
): boolean {
  const opening = openings[lane]!
  if (pieceStart !== headEnd + opening.length) return false
  const at = body.slabAt + headEnd
  for (let i = 0; i < opening.length; i++) if (body.bytes[at + i] !== opening[i]) return false
  return true
}

const listEnd = Buffer.from(']}')
const objectEnd = Buffer.from('}')
const lineEnd = Buffer.from('}\n')
const bareTrailer = Buffer.from(']}}')
const bareLine = Buffer.from(']}}\n')

/** Most answers have one lane: nothing is made for them. */
function usedLanes(panes: readonly Pane[]): readonly number[] {
  let used = 0
  for (let i = 0; i < panes.length; i++) {
    for (let lane = 0; lane < openings.length; lane++) if (panes[i]!.body.usesLane(lane)) used |= 1 << lane
  }
  return lanesByUse[used]!
}

const lanesByUse = [[], [0], [1], [0, 1]] as const

interface Frame {
  /** The flag that a cluster's answers have. */
  readonly flag: string
  /** Whether there is a line feed behind the last brace. */
  readonly endsLine: boolean
}

const bareFrame: Frame = { flag: '', endsLine: false }

/** All panes of an answer have one frame. */
function frameOf(body: PaneBody | undefined): Frame {
  if (body === undefined || body.frameAt === body.notesAt) return bareFrame
  const endsLine = body.bytes[body.notesAt - 1] === lineFeed
  const flag = body.bytes.toString('latin1', body.frameAt, body.notesAt - (endsLine ? 1 : 0))
  return { flag, endsLine }
}

function trailerOf(panes: readonly Pane[], warnings: readonly string[], endsLine: boolean): Buffer {
  let hasNotes = false
  for (let i = 0; i < panes.length; i++) if (panes[i]!.body.noteIndexAt > 0) hasNotes = true
  if (!hasNotes && warnings.length === 0) return endsLine ? bareLine : bareTrailer
  const annotations = writeAnnotations(distinct(notesOf(panes)), warnings)
  return Buffer.concat([listEnd, annotations, endsLine ? lineEnd : objectEnd])
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

/** Short constants: a loop is quicker than a call into the runtime. */
function put(target: Uint8Array, at: number, bytes: Uint8Array): number {
  for (let i = 0; i < bytes.length; i++) target[at + i] = bytes[i]!
  return at + bytes.length
}
