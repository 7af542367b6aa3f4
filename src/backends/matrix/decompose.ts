/**
 * Cuts a matrix answer into a pane while it arrives. A byte scanner finds tokens; nothing is parsed into numbers and
 * printed again, timestamps excepted, which become bucket numbers. The slab is the body itself: each point is kept
 * as `[t,"v"],` (the bracket that closes a series' last point is overwritten with the separator).
 */
import { isUtf8 } from 'node:buffer'
import type { EpochMs } from '../../core/clock.ts'
import { type Grid, startOf } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import { PaneBuilder } from '../../core/pane-builder.ts'
import { ingestScratch } from '../../core/scratch.ts'
import type { Decomposed, HeaderList, ResponseEnds, Sink, Unusable } from '../backend.ts'
import { readAnnotations } from './annotations.ts'
import { RankWriter } from './rank.ts'
import { endOfValue, incomplete, malformed, readInstant } from './scan.ts'
import { envelopes, lineFeed, openings, plainEnvelope, plainWire, seriesOpening, type Wire } from './wire.ts'

const noBytes = Buffer.alloc(0)

/** `more`: the element is not complete yet; scanning goes on there when more bytes are in. */
type Step = 'next' | 'more' | 'failed'
type State = 'envelope' | 'series' | 'points' | 'lane' | 'trailer'

export class MatrixSink implements Sink {
  readonly #interval: Interval
  readonly #wire: Wire
  /** An instant whose next decimal would have a bigger unit, in ms, has too few of them. */
  readonly #lastUnit: number
  readonly #base: EpochMs
  readonly #step: number
  readonly #builder = new PaneBuilder(openings.length)
  readonly #rank = new RankWriter()
  /** Always one byte longer than its content: a zero behind the last byte stops every inner loop. */
  #bytes: Buffer
  #length = 0
  #position = 0
  #state: State = 'envelope'
  #lane = 0
  #envelope = plainEnvelope
  #failure: string | undefined

  constructor(grid: Grid, interval: Interval, wire: Wire = plainWire) {
    this.#interval = interval
    this.#wire = wire
    this.#lastUnit = wire.hasShortInstants ? 10 : 0
    this.#base = startOf(grid, interval.from)
    this.#step = grid.step
    this.#bytes = ingestScratch.acquire(16_384)
  }

  get held(): number {
    return this.#bytes.length + this.#builder.held
  }

  write(chunk: Uint8Array): void {
    if (this.#failure !== undefined) return
    const end = this.#length + chunk.length
    if (end >= this.#bytes.length) this.#grow(end + 1)
    this.#bytes.set(chunk, this.#length)
    this.#bytes[end] = 0
    this.#length = end
    this.#scan()
  }

  end(fetchedAt: EpochMs, response?: ResponseEnds): Decomposed | Unusable {
    const decomposed = this.#decomposed(fetchedAt, response?.headers ?? [])
    if ('unusable' in decomposed) this.#builder.abandon()
    // Later bytes are ignored: the buffer belongs to the next answer.
    ingestScratch.release(this.#bytes)
    this.#bytes = noBytes
    this.#failure = 'the answer is over'
    return decomposed
  }

  #decomposed(fetchedAt: EpochMs, headers: HeaderList): Decomposed | Unusable {
    if (this.#failure === undefined && this.#state !== 'trailer') this.#failure = 'the answer is cut short'
    const endsLine = this.#wire.lineFeed !== undefined && this.#bytes[this.#length - 1] === lineFeed
    if (this.#wire.lineFeed === 'always' && !endsLine) this.#failure ??= 'the answer is cut short'
    if (this.#failure !== undefined) return { unusable: this.#failure }
    const end = endsLine ? this.#length - 1 : this.#length
    const trailer = this.#bytes.subarray(this.#position, end)
    // Bytes that are not UTF-8 could not be printed unchanged.
    const annotations = isUtf8(trailer)
      ? readAnnotations(trailer.toString(), this.#wire.executionMembers)
      : undefined
    if (annotations === undefined) return { unusable: 'unexpected fields behind the result' }
    const pane = this.#builder.finish({
      interval: this.#interval,
      fetchedAt,
      slab: this.#builder.columns === 0 ? noBytes : this.#bytes.subarray(0, this.#position),
      frame: endsLine ? Buffer.of(...this.#envelope.frame, lineFeed) : this.#envelope.frame,
      notes: annotations.notes,
    })
    const isPartial = this.#envelope.isPartial || this.#wire.isPartial?.(headers) === true
    return { panes: [pane], storable: annotations.storable && !isPartial }
  }

  #scan(): void {
    for (;;) {
      const step = this.#state === 'trailer' ? 'more' : this.#advance()
      if (step === 'more') return
      if (step === 'failed') {
        this.#failure ??= `not a matrix answer (at byte ${this.#position})`
        return
      }
    }
  }

  #advance(): Step {
    switch (this.#state) {
      case 'envelope':
        return this.#open()
      case 'series':
        return this.#series()
      case 'points':
        return this.#lane === 0 ? this.#points() : this.#histograms()
      default:
        return this.#afterLane()
    }
  }

  #series(): Step {
    const byte = this.#bytes[this.#position]!
    if (byte === 0x5d /* ] */) {
      this.#state = 'trailer'
      return 'next'
    }
    // Between two series stands a comma, which the first one does not have.
    const isFirst = this.#builder.columns === 0
    if (!isFirst && byte !== 0x2c) return this.#position < this.#length ? 'failed' : 'more'
    const at = isFirst ? this.#position : this.#position + 1
    const step = this.#matches(seriesOpening, at)
    if (step !== 'next') return step
    const end = this.#labels(at + seriesOpening.length)
    if (end > 0) return this.#openColumn(at, end)
    const isIncomplete = endOfValue(this.#bytes, at + seriesOpening.length - 1) === incomplete
    return isIncomplete ? 'more' : this.#fail('labels that cannot be read')
  }

  /** Reads label pairs up to behind the closing brace and writes their rank. Returns -1 where it cannot. */
  #labels(start: number): number {
    const bytes = this.#bytes
    let at = start
    this.#rank.reset()
    if (bytes[at] === 0x7d) return at + 1
    for (;;) {
      if (bytes[at] !== 0x22) return -1
      at = this.#rank.appendString(bytes, at)
      if (at < 0 || bytes[at] !== 0x3a || bytes[at + 1] !== 0x22) return -1
      at = this.#rank.appendString(bytes, at + 1)
      if (at < 0) return -1
      const byte = bytes[at]!
      if (byte === 0x7d /* } */) return at + 1
      if (byte !== 0x2c /* , */) return -1
      at++
    }
  }

  #openColumn(headStart: number, headEnd: number): Step {
    const lane = this.#laneAt(headEnd)
    if (lane === 'more' || lane === 'failed') return lane
    const rank = this.#wire.rankOf === undefined ? this.#rank.rank : this.#wire.rankOf(this.#rank.rank)
    if (rank === undefined) return this.#fail('labels whose order is not known')
    if (!this.#builder.followsLast(rank)) return this.#fail('series that are not in label order')
    this.#builder.beginColumn(headStart, headEnd, rank)
    return this.#openLane(lane, headEnd)
  }

  #openLane(lane: number, at: number): Step {
    this.#builder.beginLane(lane)
    this.#lane = lane
    this.#position = at + openings[lane]!.length
    this.#state = 'points'
    return 'next'
  }

  #laneAt(at: number): number | 'more' | 'failed' {
    const values = this.#matches(openings[0], at)
    if (values === 'next') return 0
    const histograms = this.#matches(openings[1], at)
    if (histograms === 'next') return 1
    return values === 'more' || histograms === 'more' ? 'more' : 'failed'
  }

  /** Behind a lane: the other lane, or the end of the series. */
  #afterLane(): Step {
    if (this.#bytes[this.#position] === 0x7d /* } */) {
      this.#position++
      this.#state = 'series'
      return 'next'
    }
    const lane = this.#laneAt(this.#position)
    if (lane === 'more' || lane === 'failed') return lane
    return lane > this.#lane ? this.#openLane(lane, this.#position) : 'failed'
  }

  /** The hot loop: points `[t,"v"]` up to the end of the lane or of the bytes that are in. */
  #points(): Step {
    const bytes = this.#bytes
    const builder = this.#builder
    const buckets = this.#interval.to - this.#interval.from
    let start = this.#position
    for (;;) {
      let at = start
      if (bytes[at] !== 0x5b /* [ */) return this.#stop(start, at)
      let digit = bytes[++at]! - 48
      let instant = 0
      if (digit < 0 || digit > 9) return this.#stop(start, at)
      while (digit >= 0 && digit <= 9) {
        instant = instant * 10 + digit
        digit = bytes[++at]! - 48
      }
      instant *= 1000
      if (digit === -2 /* . */) {
        // The unit that the next decimal has, in ms; none behind the third.
        let unit = 100
        for (digit = bytes[++at]! - 48; digit >= 0 && digit <= 9 && unit > 0; digit = bytes[++at]! - 48) {
          instant += digit * unit
          unit = unit > 1 ? unit / 10 : 0
        }
        // Also where the bytes in hand end here: a point goes on behind its decimals.
        if (unit > this.#lastUnit) return this.#stop(start, at)
      }
      if (bytes[at] !== 0x2c /* , */ || bytes[at + 1] !== 0x22 /* " */) return this.#stop(start, at)
      at += 2
      let byte = bytes[at]!
      // Stops at control characters, too, which JSON does not allow in strings.
      while (byte !== 0x22 && byte >= 0x20) byte = bytes[++at]!
      if (byte !== 0x22 || bytes[at + 1] !== 0x5d /* ] */) return this.#stop(start, at)
      const separator = bytes[at + 2]!
      if (separator !== 0x2c && separator !== 0x5d) return this.#stop(start, at)
      const bucket = (instant - this.#base) / this.#step
      if (bucket !== (bucket | 0) || bucket < 0 || bucket >= buckets || !builder.bucket(bucket, start)) {
        return this.#fail('a point off the grid')
      }
      start = at + 3
      if (separator === 0x5d) return this.#closeLane(start)
    }
  }

  /** Points `[t,{…}]`: like #points, but the value is an object whose end is found by counting brackets. */
  #histograms(): Step {
    const start = this.#position
    if (this.#bytes[start] !== 0x5b) return this.#stop(start, start)
    const end = endOfValue(this.#bytes, start)
    if (end === malformed) return 'failed'
    if (end === incomplete || end >= this.#length) return 'more'
    const separator = this.#bytes[end]!
    if (separator !== 0x2c && separator !== 0x5d) return 'failed'
    const bucket = (readInstant(this.#bytes, start + 1) - this.#base) / this.#step
    const inside = Number.isInteger(bucket) && bucket >= 0 && bucket < this.#interval.to - this.#interval.from
    if (!inside || !this.#builder.bucket(bucket, start)) return this.#fail('a point off the grid')
    if (separator === 0x5d) return this.#closeLane(end + 1)
    this.#position = end + 1
    return 'next'
  }

  #closeLane(end: number): Step {
    this.#bytes[end - 1] = 0x2c
    this.#builder.endLane(end)
    this.#position = end
    this.#state = 'lane'
    return 'next'
  }

  /** A point that is not as expected: incomplete where the bytes in hand end inside it, wrong otherwise. */
  #stop(start: number, at: number): Step {
    this.#position = start
    return at + 3 >= this.#length ? 'more' : 'failed'
  }

  #open(): Step {
    let outcome: Step = 'failed'
    for (const each of this.#wire.hasPartialFlag ? envelopes : [plainEnvelope]) {
      const step = this.#matches(each.text, this.#position)
      if (step === 'more') outcome = 'more'
      if (step !== 'next') continue
      this.#envelope = each
      this.#position += each.text.length
      this.#state = 'series'
      return step
    }
    return outcome
  }

  /** The texts are short: a loop is quicker than a call into the runtime. */
  #matches(text: Uint8Array, at: number): Step {
    const bytes = this.#bytes
    for (let i = 0; i < text.length; i++) {
      if (bytes[at + i] !== text[i]) return at + i >= this.#length ? 'more' : 'failed'
    }
    return 'next'
  }

  #fail(failure: string): Step {
    this.#failure = failure
    return 'failed'
  }

  #grow(atLeast: number): void {
    this.#bytes = ingestScratch.grow(this.#bytes, this.#length, atLeast)
  }
}
