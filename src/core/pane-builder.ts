/**
 * Builds one pane from an answer while it is scanned. The slab is the answer's own buffer: the builder only notes
 * where columns and buckets begin in it, and `finish` copies everything once into the pane's buffer.
 */
import { compareBytes, noBytes } from './bytes.ts'
import type { EpochMs } from './clock.ts'
import type { Interval } from './interval.ts'
import { allocateBody, type NoteSet, type Pane, type PaneBody, paneOf } from './pane.ts'
import { ingestScratch, noWords, wordsOf } from './scratch.ts'

export interface Finish {
  readonly interval: Interval
  readonly fetchedAt: EpochMs
  /** The answer's own bytes, into which all positions point. They are copied. */
  readonly slab: Uint8Array
  /** Bytes that all buckets share, such as header rows: panes with different ones are never in one answer. */
  readonly frame?: Uint8Array
  /** Annotations of the answer, sorted. */
  readonly notes?: NoteSet
}

export class PaneBuilder {
  readonly #lanes: number
  readonly #stride: number
  #records = wordsOf(ingestScratch.acquire(4096))
  #recordLength = 0
  #tables = wordsOf(ingestScratch.acquire(16_384))
  #tableLength = 0
  #ranks = ingestScratch.acquire(4096)
  #rankLength = 0
  /** Start of the open lane in #records, and the next bucket (relative to the interval) it may take. */
  #span = 0
  #next = 0

  constructor(lanes: number) {
    this.#lanes = lanes
    this.#stride = 3 + 3 * lanes
  }

  get columns(): number {
    return this.#recordLength / this.#stride
  }

  /** Bytes held so far. */
  get held(): number {
    return this.#records.byteLength + this.#tables.byteLength + this.#ranks.byteLength
  }

  /** Opens a column whose head is slab[headStart .. headEnd). */
  beginColumn(headStart: number, headEnd: number, rank: Uint8Array): void {
    const at = this.#recordLength
    if (at + this.#stride > this.#records.length) this.#records = grown(this.#records, at, this.#stride)
    for (let i = at + 3; i < at + this.#stride; i++) this.#records[i] = 0
    this.#appendRank(rank)
    this.#records[at] = headStart
    this.#records[at + 1] = headEnd
    this.#records[at + 2] = this.#rankLength
    this.#recordLength = at + this.#stride
  }

  /** The order of `rank` against that of the last column: a sink refuses an answer that is not ascending. */
  followsLast(rank: Buffer): boolean {
    if (this.#recordLength === 0) return true
    const last = this.#recordLength - this.#stride
    const start = last === 0 ? 0 : this.#records[last - this.#stride + 2]!
    const previous = { bytes: this.#ranks, start, end: this.#rankLength }
    return compareBytes(previous, { bytes: rank, start: 0, end: rank.length }) < 0
  }

  beginLane(lane: number): void {
    this.#span = this.#recordLength - this.#stride + 3 + 3 * lane
    this.#next = -1
  }

  /** Notes that a bucket's bytes begin at `at`. Returns false when the bucket does not follow the one before. */
  bucket(bucket: number, at: number): boolean {
    if (this.#next < 0) this.#openSpan(bucket)
    else if (bucket < this.#next) return false
    if (this.#tableLength + (bucket - this.#next) + 2 > this.#tables.length) {
      this.#tables = grown(this.#tables, this.#tableLength, bucket - this.#next + 2)
    }
    // Buckets that were left out are empty: they begin and end where this one begins.
    while (this.#next <= bucket) {
      this.#tables[this.#tableLength++] = at
      this.#next++
    }
    return true
  }

  /** Closes the lane; `end` is just behind the separator of its last bucket. */
  endLane(end: number): void {
    if (this.#next < 0) return
    this.#tables[this.#tableLength++] = end
    this.#records[this.#span + 1] = this.#next - this.#records[this.#span]!
  }

  /** Called once: the builder cannot be used afterwards. */
  finish(finish: Finish): Pane {
    const notes = finish.notes ?? []
    const body = allocateBody({
      from: finish.interval.from,
      buckets: finish.interval.to - finish.interval.from,
      columns: this.columns,
      lanes: this.#lanes,
      tableLength: this.#tableLength,
      rankBytes: this.#rankLength,
      frame: finish.frame ?? new Uint8Array(0),
      notes: notes.length > 0 ? [notes] : [],
      slabBytes: finish.slab.length,
    })
    this.#fill(body, finish)
    this.abandon()
    return paneOf(body)
  }

  /** Releases the buffers of an unfinished pane. */
  abandon(): void {
    for (const words of [this.#records, this.#tables]) ingestScratch.release(Buffer.from(words.buffer))
    ingestScratch.release(this.#ranks)
    this.#records = this.#tables = noWords
    this.#ranks = noBytes
  }

  #fill(body: PaneBody, finish: Finish): void {
    body.f64.fill(finish.fetchedAt, body.clocksAt, body.clocksAt + body.buckets)
    body.u32.set(this.#records.subarray(0, this.#recordLength), body.columnsAt)
    body.u32.set(this.#tables.subarray(0, this.#tableLength), body.tablesAt)
    if (body.noteIndexAt > 0) body.u32.fill(1, body.noteIndexAt, body.noteIndexAt + body.buckets)
    this.#ranks.copy(body.bytes, body.ranksAt, 0, this.#rankLength)
    body.bytes.set(finish.slab, body.slabAt)
  }

  #openSpan(bucket: number): void {
    this.#records[this.#span] = bucket
    this.#records[this.#span + 2] = this.#tableLength
    this.#next = bucket
  }

  #appendRank(rank: Uint8Array): void {
    const end = this.#rankLength + rank.length
    if (end > this.#ranks.length) this.#ranks = ingestScratch.grow(this.#ranks, this.#rankLength, end)
    this.#ranks.set(rank, this.#rankLength)
    this.#rankLength = end
  }
}

function grown(words: Uint32Array<ArrayBuffer>, used: number, more: number): Uint32Array<ArrayBuffer> {
  return wordsOf(ingestScratch.grow(Buffer.from(words.buffer), 4 * used, 4 * (used + more)))
}
