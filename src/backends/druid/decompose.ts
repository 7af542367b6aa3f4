/**
 * Cuts an answer of rows into panes while it arrives. A scanner finds where rows end; nothing is parsed but the time
 * of a row, and that only where it is another one than that of the row before. The slab is the body itself: each row
 * is kept with the separator behind it (the bracket that closes a list is overwritten with one).
 */
import { noBytes } from '../../core/bytes.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { Interval } from '../../core/interval.ts'
import { ingestScratch } from '../../core/scratch.ts'
import type { Decomposed, ResponseEnds, Sink, Unusable } from '../backend.ts'
import type { DruidPlan, RowFormat } from './druid-plan.ts'
import { RowCheck } from './row-check.ts'
import { comma, incomplete, malformed, newline, type RowScanner, scannerOf, tailOf } from './rows.ts'
import { BucketTable } from './rows-buckets.ts'
import { readInstant } from './rows-time.ts'
import { hasContext, isReportedIncomplete } from './wire.ts'

const openBracket = 0x5b
const closeBracket = 0x5d

/** `behind`: a row has ended, its separator comes next. */
type State = 'opening' | 'between' | 'row' | 'behind' | 'tail'

/** The members of a plan that decomposing needs. */
type Cut = Pick<DruidPlan, 'format' | 'grid' | 'isDescending' | 'order' | 'isUnlimited'>

export class RowSink implements Sink {
  readonly #format: RowFormat
  readonly #scanner: RowScanner
  readonly #buckets: BucketTable
  readonly #isList: boolean
  /** Set where the rows are sorted or cut later. */
  readonly #check: RowCheck | undefined
  #bytes: Buffer
  #length = 0
  #position = 0
  #state: State
  /** Whether the rows may end here: not behind a comma. */
  #mayEnd = true
  #rows = 0
  #rowStart = 0
  #headersEnd = 0
  /** Where the last row that has a time begins, and where its time lies. */
  #known = 0
  #timeStart = 0
  #timeEnd = 0
  /** Whether the time of the row that is being scanned has been found already. */
  #hasTime = false
  /** Whether that row begins a bucket. */
  #isNewBucket = false
  #failure: string | undefined

  constructor(plan: Cut, intervals: readonly Interval[]) {
    this.#format = plan.format
    if (plan.order !== undefined || plan.isUnlimited === true) this.#check = new RowCheck(plan)
    this.#scanner = scannerOf(plan.format)
    this.#buckets = new BucketTable(plan, intervals)
    this.#isList = plan.format.container === 'list'
    this.#state = this.#isList ? 'opening' : 'between'
    this.#bytes = ingestScratch.acquire(16_384)
  }

  get held(): number {
    return this.#bytes.length + this.#buckets.held
  }

  write(chunk: Uint8Array): void {
    if (this.#failure !== undefined) return
    const end = this.#length + chunk.length
    if (end > this.#bytes.length) this.#bytes = ingestScratch.grow(this.#bytes, this.#length, end)
    this.#bytes.set(chunk, this.#length)
    this.#length = end
    while (this.#advance());
  }

  end(fetchedAt: EpochMs, ends: ResponseEnds): Decomposed | Unusable {
    const decomposed = this.#decomposed(fetchedAt, ends)
    this.#buckets.abandon()
    // Later bytes are ignored: the buffer belongs to the next answer.
    ingestScratch.release(this.#bytes)
    this.#bytes = noBytes
    this.#failure = 'the answer is over'
    return decomposed
  }

  #decomposed(fetchedAt: EpochMs, ends: ResponseEnds): Decomposed | Unusable {
    if (this.#failure !== undefined) return { unusable: this.#failure }
    if (isReportedIncomplete(ends)) return { unusable: 'the database reported that its answer is incomplete' }
    const tail = this.#bytes.subarray(this.#position, this.#length)
    if (this.#state !== 'tail' || !tail.equals(Buffer.from(tailOf(this.#format, this.#rows))))
      return { unusable: 'the answer is cut short' }
    if (this.#rows < this.#format.headerRows) return { unusable: 'an answer without its header' }
    const firstRow = this.#isList ? 1 : 0
    const panes = this.#buckets.finish({
      bytes: this.#bytes,
      end: this.#position,
      frame: this.#bytes.subarray(firstRow, Math.max(firstRow, this.#headersEnd)),
      fetchedAt,
    })
    return { panes, storable: !hasContext(ends) }
  }

  /** One step further; false where more bytes are needed, or no more are wanted. */
  #advance(): boolean {
    if (this.#state === 'tail') return this.#checkTail()
    if (this.#position >= this.#length) return false
    switch (this.#state) {
      case 'opening':
        return this.#bytes[this.#position] === openBracket ? this.#goOn('between', 1) : this.#fail()
      case 'between':
        return this.#beginRow()
      case 'row':
        return this.#endRow()
      default:
        return this.#passSeparator()
    }
  }

  #beginRow(): boolean {
    const first = this.#bytes[this.#position]
    // The bracket that closes an empty list, or the empty line behind the last one.
    if (first === (this.#isList ? closeBracket : newline))
      return this.#mayEnd ? this.#goOn('tail', this.#isList ? 1 : 0) : this.#fail()
    const { opening } = this.#scanner
    if (opening !== undefined && first !== opening) return this.#fail()
    this.#rowStart = this.#position
    this.#isNewBucket = false
    const behindTime = this.#findTimeAsBefore()
    this.#hasTime = behindTime > 0
    if (this.#hasTime) this.#scanner.resume(behindTime)
    else this.#scanner.begin(this.#position)
    return this.#failure === undefined && this.#goOn('row', 0)
  }

  /**
   * Rows mostly begin with the same bytes up to their time, and those of one bucket have the same time. Returns the
   * position behind it, or -1 where the row begins in another way or has not come that far.
   */
  #findTimeAsBefore(): number {
    const bytes = this.#bytes
    const [start, known] = [this.#rowStart, this.#known]
    const before = this.#timeStart - known
    if (this.#timeEnd === 0 || start + before >= this.#length) return -1
    for (let i = 0; i < before; i++) if (bytes[start + i] !== bytes[known + i]) return -1
    const time = start + before
    const sameEnd = time + this.#timeEnd - this.#timeStart
    if (this.#isFieldEnd(sameEnd) && this.#isKnownTime(time, sameEnd)) return sameEnd
    const end = this.#scanner.endOfField(bytes, time, this.#length)
    return this.#isFieldEnd(end) && this.#takeTime(time, end) ? end : -1
  }

  /** Whether a field is over: one whose end has not come could go on. */
  #isFieldEnd(at: number): boolean {
    const byte = at < this.#length ? this.#bytes[at] : undefined
    return byte === comma || byte === this.#scanner.closing
  }

  #endRow(): boolean {
    const end = this.#scanner.find(this.#bytes, this.#length)
    if (end === malformed) return this.#fail('a control character in a string')
    if (end === incomplete) return false
    this.#position = end
    const isHeader = this.#rows < this.#format.headerRows
    this.#rows++
    return (isHeader ? this.#takeHeader(end) : this.#takeRow(end)) && this.#goOn('behind', 0)
  }

  /** A database that knows no headers begins with a row of data, which has a time. */
  #takeHeader(end: number): boolean {
    const bytes = this.#bytes
    const at = this.#scanner.timeAt(bytes, this.#rowStart, end)
    if (at < 0) return this.#fail('a header row without the column of the time')
    const time = readInstant(bytes, at, this.#scanner.endOfField(bytes, at, end))
    return Number.isNaN(time) || this.#fail('rows without their header')
  }

  #takeRow(end: number): boolean {
    const { opening, closing } = this.#scanner
    if (opening !== undefined && this.#bytes[end - 1] !== closing) return this.#fail()
    if (!this.#hasTime && !this.#findTime(end)) return false
    const problem = this.#check?.add(this.#bytes, [this.#rowStart, end], this.#isNewBucket)
    return problem === undefined || this.#fail(problem)
  }

  #findTime(end: number): boolean {
    const at = this.#scanner.timeAt(this.#bytes, this.#rowStart, end)
    if (at < 0) return this.#fail('a row without a time')
    const timeEnd = this.#scanner.endOfField(this.#bytes, at, end)
    return this.#isKnownTime(at, timeEnd) || this.#takeTime(at, timeEnd)
  }

  /** A time that is not the one before. */
  #takeTime(start: number, end: number): boolean {
    this.#isNewBucket = true
    this.#known = this.#rowStart
    this.#timeStart = start
    this.#timeEnd = end
    const time = readInstant(this.#bytes, start, end)
    if (Number.isNaN(time)) return this.#fail('a row whose time cannot be read')
    const failure = this.#buckets.addRow(time, this.#rowStart)
    return failure === undefined || this.#fail(failure)
  }

  /** Times differ at their ends. */
  #isKnownTime(start: number, end: number): boolean {
    const [bytes, known] = [this.#bytes, this.#timeStart]
    const length = this.#timeEnd - known
    if (length === 0 || end - start !== length) return false
    for (let i = length - 1; i >= 0; i--) if (bytes[start + i] !== bytes[known + i]) return false
    return true
  }

  #passSeparator(): boolean {
    const separator = this.#bytes[this.#position]
    const isLast = this.#isList && separator === closeBracket
    if (!isLast && separator !== (this.#isList ? comma : newline)) return this.#fail()
    this.#bytes[this.#position] = this.#isList ? comma : newline
    if (this.#rows === this.#format.headerRows) this.#headersEnd = this.#position + 1
    this.#mayEnd = !this.#isList
    return this.#goOn(isLast ? 'tail' : 'between', 1)
  }

  #checkTail(): boolean {
    const more = this.#length - this.#position > tailOf(this.#format, this.#rows).length
    return more ? this.#fail('bytes behind the end of the answer') : false
  }

  #goOn(state: State, bytes: number): true {
    this.#state = state
    this.#position += bytes
    return true
  }

  #fail(failure = `not rows (at byte ${this.#position})`): false {
    this.#failure = failure
    return false
  }
}
