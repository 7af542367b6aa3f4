/**
 * Where the rows of each bucket lie in an answer. Places are counted in the order in which buckets come, so that a
 * descending answer is noted like an ascending one and turned round only when panes are made of it.
 */
import type { EpochMs } from '../../core/clock.ts'
import { bucketAt, type Grid, startOf } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import type { Pane } from '../../core/pane.ts'
import { PaneBuilder } from '../../core/pane-builder.ts'
import { ingestScratch, noWords, wordsOf } from '../../core/scratch.ts'

/** A whole answer: the rows of the last bucket end at `end`. */
export interface Rows {
  readonly bytes: Buffer
  readonly end: number
  readonly frame: Uint8Array
  readonly fetchedAt: EpochMs
}

const noRank = new Uint8Array(0)

export class BucketTable {
  readonly #grid: Grid
  readonly #isDescending: boolean
  readonly #intervals: readonly Interval[]
  /** How many requested buckets come before each interval, in time. */
  readonly #before: number[] = []
  #count = 0
  /** Per place, as far as they have come: where its bytes begin. */
  #starts: Uint32Array<ArrayBuffer>
  #next = 0
  /** The interval of the last row. */
  #cursor: number

  constructor({ grid, isDescending }: { grid: Grid; isDescending: boolean }, intervals: readonly Interval[]) {
    this.#grid = grid
    this.#isDescending = isDescending
    this.#intervals = intervals
    for (const { from, to } of intervals) {
      this.#before.push(this.#count)
      this.#count += to - from
    }
    this.#starts = wordsOf(ingestScratch.acquire(4 * (this.#count + 1)))
    this.#cursor = isDescending ? intervals.length - 1 : 0
  }

  get held(): number {
    return this.#starts.byteLength
  }

  /** Notes that a row of the bucket that begins at `instant` lies at `at`. Returns its mistake, if any. */
  addRow(instant: EpochMs, at: number): string | undefined {
    const bucket = bucketAt(this.#grid, instant)
    if (startOf(this.#grid, bucket) !== instant) return 'a row that begins with no bucket'
    const place = this.#placeOf(bucket)
    if (place < 0) return 'a row of a bucket that was not requested'
    if (place < this.#next - 1) return 'rows that are not in time order'
    // Buckets that were left out are empty: they begin and end where this one begins.
    while (this.#next <= place) this.#starts[this.#next++] = at
    return undefined
  }

  /** One pane for each interval. Called once: the table cannot be used afterwards. */
  finish(rows: Rows): Pane[] {
    while (this.#next <= this.#count) this.#starts[this.#next++] = rows.end
    const panes = this.#intervals.map((_, index) => this.#pane(index, rows))
    this.abandon()
    return panes
  }

  /** Releases the buffers of unfinished panes. */
  abandon(): void {
    if (this.#starts.length > 0) ingestScratch.release(Buffer.from(this.#starts.buffer))
    this.#starts = noWords
  }

  /** Rows come in order: the interval is the one of the last row, or one behind it. */
  #placeOf(bucket: number): number {
    const intervals = this.#intervals
    if (this.#isDescending) while (this.#cursor > 0 && bucket < intervals[this.#cursor]!.from) this.#cursor--
    else while (this.#cursor < intervals.length - 1 && bucket >= intervals[this.#cursor]!.to) this.#cursor++
    const { from, to } = intervals[this.#cursor]!
    if (bucket < from || bucket >= to) return -1
    return this.#place(this.#before[this.#cursor]! + bucket - from)
  }

  /** The place of the bucket that so many others come before in time; or the other way round. */
  #place(index: number): number {
    return this.#isDescending ? this.#count - 1 - index : index
  }

  #pane(index: number, rows: Rows): Pane {
    const interval = this.#intervals[index]!
    const first = this.#before[index]!
    const builder = new PaneBuilder(1)
    this.#fill(builder, first, interval.to - interval.from)
    const slab = this.#slab(rows.bytes, first, interval.to - interval.from)
    const pane = builder.finish({ interval, fetchedAt: rows.fetchedAt, slab, frame: rows.frame })
    if (this.#isDescending) ingestScratch.release(Buffer.from(slab.buffer))
    return pane
  }

  /** The bytes of some buckets in time order: a part of the answer, or made of its parts. */
  #slab(bytes: Buffer, first: number, count: number): Buffer {
    const places = [this.#place(first), this.#place(first + count - 1)]
    const start = this.#starts[Math.min(...places)]!
    const end = this.#starts[Math.max(...places) + 1]!
    if (!this.#isDescending) return bytes.subarray(start, end)
    const slab = ingestScratch.acquire(end - start)
    let at = 0
    for (let i = first; i < first + count; i++) {
      const place = this.#place(i)
      at += bytes.copy(slab, at, this.#starts[place]!, this.#starts[place + 1]!)
    }
    return slab.subarray(0, at)
  }

  /** Passes the positions of the buckets with rows to a builder, one behind the other in time order. */
  #fill(builder: PaneBuilder, first: number, count: number): void {
    let at = 0
    for (let i = 0; i < count; i++) {
      const place = this.#place(first + i)
      const length = this.#starts[place + 1]! - this.#starts[place]!
      if (length === 0) continue
      if (at === 0) {
        builder.beginColumn(0, 0, noRank)
        builder.beginLane(0)
      }
      builder.bucket(i, at)
      at += length
    }
    if (at > 0) builder.endLane(at)
  }
}
