/**
 * An answer whose rows are sorted by something else than their bucket. Each bucket is stored in that order, so the answer is
 * a merge of buckets: it reads only as many rows as it returns.
 */
import type { ByteRange } from '../../core/bytes.ts'
import type { Interval } from '../../core/interval.ts'
import type { Pane, PaneBody } from '../../core/pane.ts'
import type { Recomposed } from '../backend.ts'
import { AnswerEnds } from './answer-ends.ts'
import type { DruidPlan, RowOrder } from './druid-plan.ts'
import { type KeyTable, RowKeys } from './row-keys.ts'
import { type RowScanner, scannerOf } from './rows.ts'

type Sorted = Pick<DruidPlan, 'format' | 'limit'> & { readonly order: RowOrder }

/** Consecutive rows of one bucket. */
type Piece = ByteRange & { end: number }

interface Merged {
  readonly pieces: readonly Piece[]
  readonly ends: AnswerEnds
}

export class SortedAnswer implements Recomposed {
  /** Counting the pieces means merging them, which is not needed where the whole answer is kept. */
  readonly parts = Number.POSITIVE_INFINITY
  readonly #plan: Sorted
  readonly #panes: readonly Pane[]
  #merged: Merged | undefined

  constructor(plan: Sorted, panes: readonly Pane[]) {
    this.#plan = plan
    this.#panes = panes
  }

  get length(): number {
    return this.#merge().ends.length
  }

  write(target: Uint8Array): void {
    const { pieces, ends } = this.#merge()
    let at = ends.writeHead(target)
    for (const { bytes, start, end } of pieces) at += bytes.copy(target, at, start, end)
    ends.writeTail(target, at)
  }

  #merge(): Merged {
    if (this.#merged !== undefined) return this.#merged
    const [{ format }, panes] = [this.#plan, this.#panes]
    const pieces = new Merger(this.#plan, panes).merge()
    const rows = pieces.reduce((sum, { start, end }) => sum + end - start, 0)
    this.#merged = { pieces, ends: new AnswerEnds(format, panes[0]?.body.frame, rows) }
    return this.#merged
  }
}

/** Each bucket has a slot in flat arrays, which hold its next row. */
class Merger {
  readonly #keys: RowKeys
  readonly #scanner: RowScanner
  readonly #limit: number
  readonly #table: KeyTable
  readonly #rowStarts: Uint32Array
  /** Behind the row's separator. */
  readonly #rowEnds: Uint32Array
  readonly #bucketEnds: Uint32Array
  /** A binary heap of slots: the first one has the next row of the answer. */
  readonly #heap: Uint32Array
  #size = 0
  readonly #pieces: Piece[] = []

  constructor({ format, order, limit }: Sorted, panes: readonly Pane[]) {
    this.#keys = new RowKeys(format, order)
    this.#scanner = scannerOf(format)
    this.#limit = limit
    const slots = panes.reduce((sum, { from, to }) => sum + to - from, 0)
    this.#table = this.#keys.newTable(slots)
    this.#rowStarts = new Uint32Array(slots)
    this.#rowEnds = new Uint32Array(slots)
    this.#bucketEnds = new Uint32Array(slots)
    this.#heap = new Uint32Array(slots)
    for (const { body, from, to } of panes) if (body.columns > 0) this.#addAll(body, { from, to })
  }

  merge(): readonly Piece[] {
    const heap = this.#heap
    for (let i = (this.#size >>> 1) - 1; i >= 0; i--) this.#sink(i)
    for (let left = this.#limit; left > 0 && this.#size > 0; left--) {
      this.#take(heap[0]!)
      if (!this.#advance(heap[0]!)) heap[0] = heap[--this.#size]!
      this.#sink(0)
    }
    return this.#pieces
  }

  #addAll(body: PaneBody, { from, to }: Interval): void {
    for (let bucket = from; bucket < to; bucket++) {
      const [start, end] = [body.offsetOf(0, 0, bucket), body.offsetOf(0, 0, bucket + 1)]
      if (start === end) continue
      const slot = this.#size++
      this.#heap[slot] = slot
      this.#table.bytes[slot] = body.bytes
      this.#table.buckets[slot] = bucket
      this.#rowEnds[slot] = body.slabAt + start
      this.#bucketEnds[slot] = body.slabAt + end
      this.#advance(slot)
    }
  }

  /** Moves to the next row of a bucket; false where there is none. */
  #advance(slot: number): boolean {
    const [start, end] = [this.#rowEnds[slot]!, this.#bucketEnds[slot]!]
    if (start >= end) return false
    this.#scanner.begin(start)
    const found = this.#scanner.find(this.#table.bytes[slot]!, end)
    const behind = found < 0 ? end : found
    this.#rowStarts[slot] = start
    this.#rowEnds[slot] = behind + 1
    this.#keys.read(this.#table, slot, [start, behind])
    return true
  }

  /** Neighbours in a bucket become one piece. */
  #take(slot: number): void {
    const bytes = this.#table.bytes[slot]!
    const [start, end] = [this.#rowStarts[slot]!, this.#rowEnds[slot]!]
    const last = this.#pieces.at(-1)
    if (last !== undefined && last.bytes === bytes && last.end === start) last.end = end
    else this.#pieces.push({ bytes, start, end })
  }

  /** Moves the slot at `index` down to its place in the heap. */
  #sink(index: number): void {
    const [heap, size] = [this.#heap, this.#size]
    const slot = heap[index]!
    let at = index
    for (let child = 2 * at + 1; child < size; child = 2 * at + 1) {
      const isRight = child + 1 < size && this.#isBefore(heap[child + 1]!, heap[child]!)
      const least = isRight ? child + 1 : child
      if (!this.#isBefore(heap[least]!, slot)) break
      heap[at] = heap[least]!
      at = least
    }
    if (at < size) heap[at] = slot
  }

  #isBefore(a: number, b: number): boolean {
    return this.#keys.compare(this.#table, a, b) < 0
  }
}
