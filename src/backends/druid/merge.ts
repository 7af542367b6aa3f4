/**
 * An answer whose rows are sorted by something else than their bucket. The rows of each bucket are in that order already, so
 * that buckets are merged: only as many rows are looked at as the answer has.
 */
import type { Pane } from '../../core/pane.ts'
import type { Recomposed } from '../backend.ts'
import { AnswerEnds } from './answer-ends.ts'
import type { DruidPlan, RowOrder } from './druid-plan.ts'
import { type KeyValues, RowKeys } from './row-keys.ts'
import { type RowScanner, scannerOf } from './rows.ts'

type Sorted = Pick<DruidPlan, 'format' | 'limit'> & { readonly order: RowOrder }

/** Rows of one bucket. */
interface Piece {
  readonly bytes: Buffer
  readonly start: number
  end: number
}

export class SortedAnswer implements Recomposed {
  /** How many there are is known when they are merged, and an answer that is kept need not be. */
  readonly parts = Number.POSITIVE_INFINITY
  readonly #plan: Sorted
  readonly #panes: readonly Pane[]
  #merged: { readonly pieces: readonly Piece[]; readonly ends: AnswerEnds } | undefined

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

  #merge() {
    if (this.#merged !== undefined) return this.#merged
    const pieces = new Merger(this.#plan, this.#panes).merge()
    const rows = pieces.reduce((sum, { start, end }) => sum + end - start, 0)
    const merged = { pieces, ends: new AnswerEnds(this.#plan.format, this.#panes[0]?.body.frame, rows) }
    this.#merged = merged
    return merged
  }
}

/** The next row of a bucket, and the rows behind it. */
interface Cursor {
  readonly values: KeyValues
  readonly end: number
  rowStart: number
  /** Behind its separator. */
  rowEnd: number
}

class Merger {
  readonly #keys: RowKeys
  readonly #rows: RowScanner
  readonly #limit: number
  /** A heap: the next row of the answer is that of the first. */
  readonly #heap: Cursor[] = []
  readonly #pieces: Piece[] = []

  constructor({ format, order, limit }: Sorted, panes: readonly Pane[]) {
    this.#keys = new RowKeys(format, order)
    this.#rows = scannerOf(format)
    this.#limit = limit
    for (const { body, from, to } of panes) {
      if (body.columns === 0) continue
      for (let bucket = from; bucket < to; bucket++) {
        const [start, end] = [body.offsetOf(0, 0, bucket), body.offsetOf(0, 0, bucket + 1)]
        if (start < end) this.#add(body.bytes, bucket, [body.slabAt + start, body.slabAt + end])
      }
    }
  }

  merge(): readonly Piece[] {
    const heap = this.#heap
    for (let i = (heap.length >>> 1) - 1; i >= 0; i--) this.#sink(i)
    for (let left = this.#limit; left > 0 && heap.length > 0; left--) {
      const next = heap[0]!
      this.#take(next)
      if (!this.#advance(next)) {
        const last = heap.pop()!
        if (heap.length > 0) heap[0] = last
      }
      this.#sink(0)
    }
    return this.#pieces
  }

  #add(bytes: Buffer, bucket: number, [start, end]: readonly [number, number]): void {
    const values = this.#keys.newValues()
    values.bytes = bytes
    values.bucket = bucket
    const cursor = { values, end, rowStart: start, rowEnd: start }
    if (this.#advance(cursor)) this.#heap.push(cursor)
  }

  #advance(cursor: Cursor): boolean {
    const { values, end, rowEnd: start } = cursor
    if (start >= end) return false
    this.#rows.begin(start)
    const found = this.#rows.find(values.bytes, end)
    const behind = found < 0 ? end : found
    cursor.rowStart = start
    cursor.rowEnd = behind + 1
    this.#keys.read(values, start, behind)
    return true
  }

  /** Rows that are neighbours in their bucket are one piece. */
  #take({ values: { bytes }, rowStart: start, rowEnd: end }: Cursor): void {
    const last = this.#pieces.at(-1)
    if (last !== undefined && last.bytes === bytes && last.end === start) last.end = end
    else this.#pieces.push({ bytes, start, end })
  }

  /** Puts the cursor at `index` where it belongs. */
  #sink(index: number): void {
    const heap = this.#heap
    const cursor = heap[index]
    if (cursor === undefined) return
    let at = index
    for (let child = 2 * at + 1; child < heap.length; child = 2 * at + 1) {
      const isRight = child + 1 < heap.length && this.#isBefore(heap[child + 1]!, heap[child]!)
      const least = isRight ? child + 1 : child
      if (!this.#isBefore(heap[least]!, cursor)) break
      heap[at] = heap[least]!
      at = least
    }
    heap[at] = cursor
  }

  #isBefore(a: Cursor, b: Cursor): boolean {
    return this.#keys.compare(a.values, b.values) < 0
  }
}
