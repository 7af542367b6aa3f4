/** The bytes around the rows of an answer: the bracket of a list, header rows, and the end of the body. */
import { noBytes, ownMemory } from '../../core/bytes.ts'
import { Memo } from '../../core/memo.ts'
import type { RowFormat } from './druid-plan.ts'
import { tailOf } from './rows.ts'

// A sent buffer keeps its underlying memory alive: a byte in a pool would keep the pool.
const opening = ownMemory(Buffer.from('['))

/** Few texts, and the same ones again and again. */
const closings = new Memo({ maxTexts: 100, maxCharacters: 1_000 }, (text) => ownMemory(Buffer.from(text)))

export class AnswerEnds {
  readonly head: Buffer
  readonly frame: Buffer
  readonly tail: Buffer
  /** Whether the end of the list replaces the separator behind the last row. */
  readonly isOneEarly: boolean
  /** Of the whole answer. */
  readonly length: number

  /** `rows`: how many bytes of rows there are, with the separator behind each. */
  constructor(format: RowFormat, frame: Buffer | undefined, rows: number) {
    this.frame = frame ?? noBytes
    const inside = this.frame.length + rows
    const isList = format.container === 'list'
    this.isOneEarly = isList && inside > 0
    this.head = isList ? opening : noBytes
    const tail = tailOf(format, Math.sign(inside))
    this.tail = closings.get(isList ? `]${tail}` : tail)
    this.length = this.head.length + inside - (this.isOneEarly ? 1 : 0) + this.tail.length
  }

  /** Returns where the rows begin. */
  writeHead(target: Uint8Array): number {
    const at = this.head.copy(target)
    return at + this.frame.copy(target, at)
  }

  /** `at`: where the rows end. */
  writeTail(target: Uint8Array, at: number): void {
    this.tail.copy(target, this.isOneEarly ? at - 1 : at)
  }
}
