/** Puts an answer of rows together from panes: one copy per pane, of the database's own bytes. */
import { ownMemory } from '../../core/bytes.ts'
import { Memo } from '../../core/memo.ts'
import { type Pane, type PaneBody, slice } from '../../core/pane.ts'
import type { AnswerListener, Recomposed } from '../backend.ts'
import type { DruidPlan } from './druid-plan.ts'
import { type RowScanner, scannerOf, tailOf } from './rows.ts'

type Writing = Pick<DruidPlan, 'format' | 'isDescending' | 'limit'>

export function recompose(plan: Writing, panes: readonly Pane[]): Recomposed {
  const whole = { panes, rest: undefined }
  return new RowAnswer(plan, Number.isFinite(plan.limit) ? new Cutter(plan, panes).cut() : whole)
}

/** Panes in time order, and behind their rows, in the order of the answer, some of those of one more bucket. */
interface Content {
  readonly panes: readonly Pane[]
  readonly rest: { readonly bytes: Buffer; readonly start: number; readonly end: number } | undefined
}

/** More pieces cost more to send than their bytes to copy. */
const maxViews = 8

// A sent buffer keeps its underlying memory alive: a byte in a pool would keep the pool.
const opening = ownMemory(Buffer.from('['))
const noBytes = Buffer.alloc(0)

/** Few texts, and the same ones again and again. */
const closings = new Memo({ maxTexts: 100, maxCharacters: 1_000 }, (text) => ownMemory(Buffer.from(text)))

class RowAnswer implements Recomposed {
  readonly length: number
  readonly parts: number
  readonly #isDescending: boolean
  readonly #content: Content
  readonly #frame: Buffer
  readonly #head: Buffer
  readonly #tail: Buffer
  /** Bytes of rows in the panes, and of all rows, headers included. */
  readonly #inPanes: number
  readonly #inside: number
  /** Whether the end of the list replaces the separator behind the last row. */
  readonly #isOneEarly: boolean

  constructor({ format, isDescending }: Writing, content: Content) {
    const { panes, rest } = content
    this.#isDescending = isDescending
    this.#content = content
    this.#frame = panes[0]?.body.frame ?? noBytes
    this.#inPanes = panes.reduce((sum, pane) => sum + sizeOf(pane), 0)
    this.#inside = this.#frame.length + this.#inPanes + (rest === undefined ? 0 : rest.end - rest.start)
    const isList = format.container === 'list'
    this.#isOneEarly = isList && this.#inside > 0
    this.#head = isList ? opening : noBytes
    const tail = tailOf(format, Math.sign(this.#inside))
    this.#tail = closings.get(isList ? `]${tail}` : tail)
    this.length = this.#head.length + this.#inside - (this.#isOneEarly ? 1 : 0) + this.#tail.length
    this.parts = isDescending ? panes.reduce((sum, { from, to }) => sum + to - from, 0) : panes.length
  }

  write(target: Uint8Array): void {
    const { rest } = this.#content
    let at = this.#head.copy(target)
    at += this.#frame.copy(target, at)
    this.#each((body, from, to) => {
      at += body.bytes.copy(target, at, startIn(body, from), startIn(body, to))
    })
    if (rest !== undefined) at += rest.bytes.copy(target, at, rest.start, rest.end)
    this.#tail.copy(target, this.#isOneEarly ? at - 1 : at)
  }

  views(): readonly Uint8Array[] | undefined {
    const { rest } = this.#content
    if (this.parts > maxViews || rest !== undefined || this.#inPanes === 0) return undefined
    const views: Uint8Array[] = [this.#head, this.#frame]
    this.#each((body, from, to) => {
      views.push(body.bytes.subarray(startIn(body, from), startIn(body, to)))
    })
    const last = views.length - 1
    if (this.#isOneEarly) views[last] = views[last]!.subarray(0, -1)
    views.push(this.#tail)
    return views.filter(({ length }) => length > 0)
  }

  walk(listener: AnswerListener): void {
    const { rest } = this.#content
    const early = this.#isOneEarly ? 1 : 0
    listener.literal(this.#head, 0, this.#head.length)
    const framed = this.#inside === this.#frame.length ? early : 0
    listener.literal(this.#frame, 0, this.#frame.length - framed)
    let left = this.#inPanes
    this.#each((body, from, to) => {
      const end = body.offsetOf(0, 0, to)
      left -= end - body.offsetOf(0, 0, from)
      const isLast = left === 0 && rest === undefined
      listener.run({ body, column: 0, lane: 0, from, to, end: isLast ? end - early : end })
    })
    if (rest !== undefined) listener.literal(rest.bytes, rest.start, rest.end - early)
    listener.literal(this.#tail, 0, this.#tail.length)
  }

  /** Runs of buckets with rows, in the order of the answer: whole panes, or newest first one bucket after the other. */
  #each(visit: (body: PaneBody, from: number, to: number) => void): void {
    const { panes } = this.#content
    if (!this.#isDescending) {
      for (const pane of panes) if (sizeOf(pane) > 0) visit(pane.body, pane.from, pane.to)
      return
    }
    for (const { body, from, to } of panes.toReversed()) {
      if (body.columns === 0) continue
      for (let bucket = to - 1; bucket >= from; bucket--) {
        if (body.offsetOf(0, 0, bucket) < body.offsetOf(0, 0, bucket + 1)) visit(body, bucket, bucket + 1)
      }
    }
  }
}

/** Cuts the answer after a number of rows. Rows are counted by finding their ends. */
class Cutter {
  readonly #scanner: RowScanner
  readonly #isDescending: boolean
  readonly #panes: readonly Pane[]
  #left: number

  constructor({ format, isDescending, limit }: Writing, panes: readonly Pane[]) {
    this.#scanner = scannerOf(format)
    this.#isDescending = isDescending
    this.#panes = panes
    this.#left = limit
  }

  cut(): Content {
    const count = this.#panes.length
    for (let i = 0; i < count; i++) {
      const index = this.#isDescending ? count - 1 - i : i
      const { body, from, to } = this.#panes[index]!
      for (let j = 0; j < to - from; j++) {
        const bucket = this.#isDescending ? to - 1 - j : from + j
        const rest = this.#bucket(body, bucket)
        if (this.#left === 0) return { panes: this.#kept(index, bucket), rest }
      }
    }
    return { panes: this.#panes, rest: undefined }
  }

  /** As many rows of a bucket as may still be written. */
  #bucket(body: PaneBody, bucket: number): Content['rest'] {
    const { bytes } = body
    if (body.columns === 0) return undefined
    const [start, end] = [startIn(body, bucket), startIn(body, bucket + 1)]
    let at = start
    for (; at < end && this.#left > 0; this.#left--) {
      this.#scanner.begin(at)
      const behind = this.#scanner.find(bytes, end)
      at = behind < 0 ? end : behind + 1
    }
    return at === start ? undefined : { bytes, start, end: at }
  }

  /** The part of a pane before a bucket. */
  #kept(index: number, bucket: number): Pane[] {
    const pane = this.#panes[index]!
    return this.#isDescending
      ? [slice(pane, { from: bucket + 1, to: pane.to }), ...this.#panes.slice(index + 1)]
      : [...this.#panes.slice(0, index), slice(pane, { from: pane.from, to: bucket })]
  }
}

/** Rows have one column and one lane; a body without any has none. */
const startIn = (body: PaneBody, bucket: number): number => body.slabAt + body.offsetOf(0, 0, bucket)

const sizeOf = ({ body, from, to }: Pane): number =>
  body.columns === 0 ? 0 : body.offsetOf(0, 0, to) - body.offsetOf(0, 0, from)
