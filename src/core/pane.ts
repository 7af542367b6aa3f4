/**
 * The pane: an immutable run of consecutive buckets of one key, in flat arrays. The bytes in memory are the bytes
 * in a store: one buffer holds everything, and a PaneBody only has views on it.
 *
 * Layout of the buffer (host byte order, every section 4- or 8-byte aligned up to `ranks`):
 *
 *   header    16 u32 words (see `word`); the first two are the number of the first bucket as one f64
 *   clocks    f64 per bucket: fetchedAt, with the database's own limits as a fraction (lifetime.ts); NaN = absent
 *   columns   per column: headStart, headEnd, rankEnd, then per lane: spanFrom, spanLength, table
 *   tables    per column and lane with bytes: spanLength + 1 offsets into the slab
 *   noteIndex u32 per bucket (only where there are notes): 0 = none, else index of a note set + 1
 *   ranks     order-preserving bytes of every column, one after the other
 *   frame     data that all buckets share (header rows, column names); panes with unequal frames do not join
 *   notes     annotation sets, as JSON text of string[][]
 *   slab      the answer's own encoded bytes, heads included
 *
 * A bucket's bytes in a column and lane are slab[table[i] .. table[i + 1]) and end with one separator byte, so that
 * the bytes of any run of buckets are one contiguous piece. Columns are in rank order.
 *
 * Operations: slice and measure here, join in pane-join.ts, compare in pane-compare.ts.
 */
import { threadId } from 'node:worker_threads'
import { noBytes } from './bytes.ts'
import type { EpochMs } from './clock.ts'
import type { Interval } from './interval.ts'

/** Bumped whenever the layout changes: another version in a store is absent. */
export const paneVersion = 1

const word = {
  version: 2,
  buckets: 3,
  columns: 4,
  lanes: 5,
  tableLength: 6,
  rankBytes: 7,
  frameBytes: 8,
  noteBytes: 9,
  slabBytes: 10,
} as const
const headerWords = 16

/** The sizes that are needed to allocate the buffer. */
export interface PaneSizes {
  readonly from: number
  readonly buckets: number
  readonly columns: number
  readonly lanes: number
  readonly tableLength: number
  readonly rankBytes: number
  readonly frame: Uint8Array
  readonly notes: readonly NoteSet[]
  readonly slabBytes: number
}

/** Annotations of one fetch; opaque to the pane, written by the backend, sorted so that equal sets are equal. */
export type NoteSet = readonly string[]

/** No two threads of a process give the same number. */
let lastId = threadId * 2 ** 36

/** Where the memory of bodies comes from; it may be dirty. Threads that share bodies take it from elsewhere. */
let memory = (length: number): Buffer => Buffer.allocUnsafeSlow(length)

/** Whether bytes can be a body where they are. */
let isAnyMemoryRight = true

/** To be called before the first body is made. */
export function takeBodiesFrom(source: (length: number) => Buffer): void {
  memory = source
  isAnyMemoryRight = false
}

let onBody: ((length: number) => void) | undefined

/**
 * From now on `count` is called before the memory of each body is taken. Small answers that are joined with large
 * stored ones leave large bodies behind, which nothing else counts.
 */
export function countBodies(count: ((length: number) => void) | undefined): void {
  onBody = count
}

/** Memory for the bytes of a body: of unknown content, and owned from offset 0. */
export function bodyMemory(length: number): Buffer {
  onBody?.(length)
  return memory(length)
}

/** Whether bytes that were made elsewhere can become a body without a copy. */
export const isAdoptable = (bytes: Buffer): boolean =>
  isAnyMemoryRight && bytes.byteOffset === 0 && bytes.buffer.byteLength === bytes.length

/** Buckets of another body that were taken over as they are, every column at the same place. */
export interface Origin extends Interval {
  readonly id: number
}

export class PaneBody {
  /** Unique in this process, across threads: values derived from a body are memoised under it. */
  readonly id: number
  /** The source bodies of a joined body whose derived values also hold for it. */
  origins: readonly Origin[] = []
  readonly bytes: Buffer
  readonly u32: Uint32Array
  readonly f64: Float64Array
  readonly from: number
  readonly buckets: number
  readonly columns: number
  readonly lanes: number
  /** Index of the first clock in f64. */
  readonly clocksAt: number
  /** Index of the first column record in u32, and the words of one record. */
  readonly columnsAt: number
  readonly stride: number
  readonly tablesAt: number
  /** Index of the note index in u32, or 0 where no bucket has notes. */
  readonly noteIndexAt: number
  /** Byte positions. */
  readonly ranksAt: number
  readonly frameAt: number
  readonly notesAt: number
  readonly slabAt: number

  /** `bytes` must own its memory from offset 0 (not a part of a pool). */
  constructor(bytes: Buffer, id = ++lastId) {
    this.id = id
    this.bytes = bytes
    this.u32 = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2)
    this.f64 = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 3)
    const u32 = this.u32
    this.from = this.f64[0]!
    this.buckets = u32[word.buckets]!
    this.columns = u32[word.columns]!
    this.lanes = u32[word.lanes]!
    this.clocksAt = headerWords >>> 1
    this.columnsAt = headerWords + 2 * this.buckets
    this.stride = 3 + 3 * this.lanes
    this.tablesAt = this.columnsAt + this.columns * this.stride
    const afterTables = this.tablesAt + u32[word.tableLength]!
    const hasNotes = u32[word.noteBytes]! > 0
    this.noteIndexAt = hasNotes ? afterTables : 0
    this.ranksAt = 4 * (afterTables + (hasNotes ? this.buckets : 0))
    this.frameAt = this.ranksAt + u32[word.rankBytes]!
    this.notesAt = this.frameAt + u32[word.frameBytes]!
    this.slabAt = this.notesAt + u32[word.noteBytes]!
  }

  /** Lanes that have bytes in any column, as bits; computed at first use. */
  #usedLanes: number | undefined

  /** Whether any column has bytes in a lane: most answers have bytes in one only. */
  usesLane(lane: number): boolean {
    this.#usedLanes ??= this.#findUsedLanes()
    return (this.#usedLanes & (1 << lane)) !== 0
  }

  #findUsedLanes(): number {
    let used = 0
    for (let column = 0; column < this.columns; column++) {
      const record = this.columnsAt + column * this.stride
      for (let lane = 0; lane < this.lanes; lane++) {
        if (this.u32[record + 3 + 3 * lane + 1]! > 0) used |= 1 << lane
      }
    }
    return used
  }

  get frame(): Buffer {
    return this.bytes.subarray(this.frameAt, this.notesAt)
  }

  get notes(): readonly NoteSet[] {
    if (this.noteIndexAt === 0) return []
    return JSON.parse(this.bytes.toString('utf8', this.notesAt, this.slabAt)) as NoteSet[]
  }

  get version(): number {
    return this.u32[word.version]!
  }

  /** Start of a column's rank in `bytes`. */
  rankStart(column: number): number {
    return this.ranksAt + (column === 0 ? 0 : this.u32[this.columnsAt + (column - 1) * this.stride + 2]!)
  }

  rankEnd(column: number): number {
    return this.ranksAt + this.u32[this.columnsAt + column * this.stride + 2]!
  }

  /** Where `bucket` (or the first after the column's span) begins in the slab, for a column and lane. */
  offsetOf(column: number, lane: number, bucket: number): number {
    const u32 = this.u32
    const span = this.columnsAt + column * this.stride + 3 + 3 * lane
    const length = u32[span + 1]!
    if (length === 0) return 0
    const index = bucket - this.from - u32[span]!
    const table = this.tablesAt + u32[span + 2]!
    return u32[table + (index <= 0 ? 0 : Math.min(index, length))]!
  }
}

/** A body whose sections are still to be filled by the caller, header, frame and notes excepted. */
export function allocateBody(sizes: PaneSizes): PaneBody {
  const notes = sizes.notes.length > 0 ? Buffer.from(JSON.stringify(sizes.notes)) : noBytes
  const words =
    headerWords +
    2 * sizes.buckets +
    sizes.columns * (3 + 3 * sizes.lanes) +
    sizes.tableLength +
    (notes.length > 0 ? sizes.buckets : 0)
  const total = 4 * words + sizes.rankBytes + sizes.frame.length + notes.length + sizes.slabBytes
  // Padded to whole f64, because the f64 view must reach over all clocks.
  const bytes = bodyMemory(8 * Math.ceil(total / 8))
  const header = new Uint32Array(bytes.buffer, 0, headerWords)
  header.fill(0)
  // The padding is written too: equal panes have equal bytes, and no store sees the former content of this memory.
  bytes.fill(0, Math.max(0, bytes.length - 8))
  new Float64Array(bytes.buffer, 0, 1)[0] = sizes.from
  header[word.version] = paneVersion
  header[word.buckets] = sizes.buckets
  header[word.columns] = sizes.columns
  header[word.lanes] = sizes.lanes
  header[word.tableLength] = sizes.tableLength
  header[word.rankBytes] = sizes.rankBytes
  header[word.frameBytes] = sizes.frame.length
  header[word.noteBytes] = notes.length
  header[word.slabBytes] = sizes.slabBytes
  const body = new PaneBody(bytes)
  bytes.set(sizes.frame, body.frameAt)
  bytes.set(notes, body.notesAt)
  return body
}

/** Buckets [from, to) of a body. Several panes may share one body. */
export interface Pane extends Interval {
  readonly body: PaneBody
}

export const paneOf = (body: PaneBody): Pane => ({ body, from: body.from, to: body.from + body.buckets })

/** The part of a pane that lies in an interval; shares the body, copies nothing. */
export function slice(pane: Pane, interval: Interval): Pane {
  const from = Math.max(pane.from, interval.from)
  const to = Math.min(pane.to, interval.to)
  return from === pane.from && to === pane.to ? pane : { body: pane.body, from, to: Math.max(from, to) }
}

/** Bytes of JavaScript objects around one body: the views, the buffer's bookkeeping and the pane itself. */
export const objectOverhead = 768

/** The memory that the process holds for this pane. Panes of one body share it. */
export const measure = (pane: Pane): number => pane.body.bytes.byteLength + objectOverhead

export const clockOf = (pane: Pane, bucket: number): EpochMs =>
  pane.body.f64[pane.body.clocksAt + bucket - pane.body.from]!

/** Gives buckets of a pane another clock. Call it only before another reader has the pane. */
export function setClocks(
  { body }: Pane,
  { from, to }: Interval,
  clockFrom: (clock: EpochMs) => EpochMs,
): void {
  for (let at = body.clocksAt + from - body.from; at < body.clocksAt + to - body.from; at++)
    body.f64[at] = clockFrom(body.f64[at]!)
}

/** The end of the last bucket that has bytes in any column, or `pane.from` where none has. */
export function filledUntil(pane: Pane): number {
  const { body } = pane
  let until = pane.from
  for (let column = 0; column < body.columns; column++) {
    for (let lane = 0; lane < body.lanes; lane++) {
      let to = Math.min(pane.to, spanEnd(body, column, lane))
      // A span may end outside this slice: step back to the last bucket that has bytes inside it.
      while (to > until && body.offsetOf(column, lane, to - 1) === body.offsetOf(column, lane, to)) to--
      if (to > until) until = to
    }
  }
  return until
}

const spanEnd = (body: PaneBody, column: number, lane: number): number => {
  const span = body.columnsAt + column * body.stride + 3 + 3 * lane
  return body.from + body.u32[span]! + body.u32[span + 1]!
}
