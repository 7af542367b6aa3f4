/** Puts an answer of rows together from panes: one copy per pane, of the database's own bytes. */
import type { ByteRange } from '../../core/bytes.ts'
import { type Pane, type PaneBody, slice } from '../../core/pane.ts'
import type { AnswerListener, Recomposed } from '../backend.ts'
import { AnswerEnds } from './answer-ends.ts'
import type { DruidPlan } from './druid-plan.ts'
import { SortedAnswer } from './merge.ts'
import { type RowScanner, scannerOf } from './rows.ts'

type Writing = Pick<DruidPlan, 'format' | 'isDescending' | 'limit' | 'order'>

export function recompose(plan: Writing, panes: readonly Pane[]): Recomposed {
  const { order } = plan
  if (order !== undefined) return new SortedAnswer({ ...plan, order }, panes)
  const whole = { panes, rest: undefined }
  return new RowAnswer(plan, Number.isFinite(plan.limit) ? new Cutter(plan, panes).cut() : whole)
}

/** Panes in time order, and behind their rows, in the order of the answer, some of those of one more bucket. */
interface Content {
  readonly panes: readonly Pane[]
  readonly rest: ByteRange | undefined
}

/** More pieces cost more to send than their bytes to copy. */
const maxViews = 8

class RowAnswer implements Recomposed {
  readonly length: number
  readonly parts: number
  readonly #isDescending: boolean
  readonly #content: Content
  readonly #ends: AnswerEnds
  /** Bytes of rows in the panes, and with the rest. */
  readonly #inPanes: number
  readonly #inRows: number

  constructor({ format, isDescending }: Writing, content: Content) {
    const { panes, rest } = content
    this.#isDescending = isDescending
    this.#content = content
    this.#inPanes = panes.reduce((sum, pane) => sum + sizeOf(pane), 0)
    this.#inRows = this.#inPanes + (rest === undefined ? 0 : rest.end - rest.start)
    this.#ends = new AnswerEnds(format, panes[0]?.body.frame, this.#inRows)
    this.length = this.#ends.length
    this.parts = isDescending ? panes.reduce((sum, { from, to }) => sum + to - from, 0) : panes.length
  }

  write(target: Uint8Array): void {
    const { rest } = this.#content
    let at = this.#ends.writeHead(target)
    this.#each((body, from, to) => {
      at += body.bytes.copy(target, at, startIn(body, from), startIn(body, to))
    })
    if (rest !== undefined) at += rest.bytes.copy(target, at, rest.start, rest.end)
    this.#ends.writeTail(target, at)
  }

  views(): readonly Uint8Array[] | undefined {
    const { rest } = this.#content
    if (this.parts > maxViews || rest !== undefined || this.#inPanes === 0) return undefined
    const { head, frame, tail, isOneEarly } = this.#ends
    const views: Uint8Array[] = [head, frame]
    this.#each((body, from, to) => {
      views.push(body.bytes.subarray(startIn(body, from), startIn(body, to)))
    })
    const last = views.length - 1
    if (isOneEarly) views[last] = views[last]!.subarray(0, -1)
    views.push(tail)
    return views.filter(({ length }) => length > 0)
  }

  walk(listener: AnswerListener): void {
    const { rest } = this.#content
    const { head, frame, tail, isOneEarly } = this.#ends
    const early = isOneEarly ? 1 : 0
    listener.literal(head, 0, head.length)
    const framed = this.#inRows === 0 ? early : 0
    listener.literal(frame, 0, frame.length - framed)
    let left = this.#inPanes
    this.#each((body, from, to) => {
      const end = body.offsetOf(0, 0, to)
      left -= end - body.offsetOf(0, 0, from)
      const isLast = left === 0 && rest === undefined
      listener.run({ body, column: 0, lane: 0, from, to, end: isLast ? end - early : end })
    })
    if (rest !== undefined) listener.literal(rest.bytes, rest.start, rest.end - early)
    listener.literal(tail, 0, tail.length)
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
