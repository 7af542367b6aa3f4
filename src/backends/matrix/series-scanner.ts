/**
 * Finds the series and points of a matrix answer, from its envelope to its trailer, and notes in a pane builder where
 * they are. Nothing is parsed into numbers, timestamps excepted, which become bucket numbers. The bracket that closes a
 * series' last point is overwritten with the separator, so that each point is `[t,"v"],`.
 */
import { noBytes } from '../../core/bytes.ts'
import type { EpochMs } from '../../core/clock.ts'
import { type Grid, startOf } from '../../core/grid.ts'
import { type Interval, lengthOf } from '../../core/interval.ts'
import type { PaneBuilder } from '../../core/pane-builder.ts'
import { RankWriter } from './rank.ts'
import { endOfValue, incomplete, malformed, readInstant } from './scan.ts'
import { envelopes, openings, plainEnvelope, seriesOpening, type Wire } from './wire.ts'

/** `more`: the element is not complete yet; scanning goes on there when more bytes are in. */
type Step = 'next' | 'more' | 'failed'

export class SeriesScanner {
  /** Where the next element begins; behind the last series, where the trailer begins. */
  position = 0
  /** Why the answer cannot be used. */
  failure: string | undefined
  envelope = plainEnvelope
  readonly #builder: PaneBuilder
  readonly #envelopes: typeof envelopes
  readonly #rankOf: Wire['rankOf']
  /** An instant whose next decimal would have a bigger unit, in ms, has too few of them. */
  readonly #lastUnit: number
  readonly #base: EpochMs
  readonly #step: number
  readonly #buckets: number
  readonly #rank = new RankWriter()
  #bytes = noBytes
  #length = 0
  #state: 'envelope' | 'series' | 'points' | 'lane' | 'trailer' = 'envelope'
  #lane = 0

  constructor(builder: PaneBuilder, { grid, interval }: { grid: Grid; interval: Interval }, wire: Wire) {
    this.#builder = builder
    this.#envelopes = wire.hasPartialFlag ? envelopes : [plainEnvelope]
    this.#rankOf = wire.rankOf
    this.#lastUnit = wire.hasShortInstants ? 10 : 0
    this.#base = startOf(grid, interval.from)
    this.#step = grid.step
    this.#buckets = lengthOf(interval)
  }

  /** Whether all series are scanned. */
  get isDone(): boolean {
    return this.#state === 'trailer'
  }

  /** Scans the bytes before `length`, behind which there is a zero that stops every inner loop. */
  scan(bytes: Buffer, length: number): void {
    this.#bytes = bytes
    this.#length = length
    let step: Step = 'next'
    while (step === 'next') step = this.#advance()
    if (step === 'failed') this.failure ??= `not a matrix answer (at byte ${this.position})`
  }

  #advance(): Step {
    switch (this.#state) {
      case 'envelope':
        return this.#open()
      case 'series':
        return this.#series()
      case 'points':
        return this.#lane === 0 ? this.#points() : this.#histograms()
      case 'lane':
        return this.#afterLane()
      default:
        return 'more'
    }
  }

  #open(): Step {
    let outcome: Step = 'failed'
    for (const each of this.#envelopes) {
      const step = this.#matches(each.text, this.position)
      if (step === 'more') outcome = 'more'
      if (step !== 'next') continue
      this.envelope = each
      this.position += each.text.length
      this.#state = 'series'
      return step
    }
    return outcome
  }

  #series(): Step {
    const byte = this.#bytes[this.position]!
    if (byte === 0x5d /* ] */) {
      this.#state = 'trailer'
      return 'next'
    }
    // Between two series stands a comma, which the first one does not have.
    const isFirst = this.#builder.columns === 0
    if (!isFirst && byte !== 0x2c) return this.position < this.#length ? 'failed' : 'more'
    const at = isFirst ? this.position : this.position + 1
    const step = this.#matches(seriesOpening, at)
    if (step !== 'next') return step
    const end = this.#rank.readLabels(this.#bytes, at + seriesOpening.length)
    if (end > 0) return this.#openColumn(at, end)
    const isIncomplete = endOfValue(this.#bytes, at + seriesOpening.length - 1) === incomplete
    return isIncomplete ? 'more' : this.#fail('labels that cannot be read')
  }

  #openColumn(headStart: number, headEnd: number): Step {
    const lane = this.#laneAt(headEnd)
    if (lane === 'more' || lane === 'failed') return lane
    const rank = this.#rankOf === undefined ? this.#rank.rank : this.#rankOf(this.#rank.rank)
    if (rank === undefined) return this.#fail('labels whose order is not known')
    if (!this.#builder.followsLast(rank)) return this.#fail('series that are not in label order')
    this.#builder.beginColumn(headStart, headEnd, rank)
    return this.#openLane(lane, headEnd)
  }

  #openLane(lane: number, at: number): Step {
    this.#builder.beginLane(lane)
    this.#lane = lane
    this.position = at + openings[lane]!.length
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
    if (this.#bytes[this.position] === 0x7d /* } */) {
      this.position++
      this.#state = 'series'
      return 'next'
    }
    const lane = this.#laneAt(this.position)
    if (lane === 'more' || lane === 'failed') return lane
    return lane > this.#lane ? this.#openLane(lane, this.position) : 'failed'
  }

  /** The hot loop: points `[t,"v"]` up to the end of the lane or of the bytes that are in. */
  #points(): Step {
    const bytes = this.#bytes
    const builder = this.#builder
    const buckets = this.#buckets
    let start = this.position
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
    const start = this.position
    if (this.#bytes[start] !== 0x5b) return this.#stop(start, start)
    const end = endOfValue(this.#bytes, start)
    if (end === malformed) return 'failed'
    if (end === incomplete || end >= this.#length) return 'more'
    const separator = this.#bytes[end]!
    if (separator !== 0x2c && separator !== 0x5d) return 'failed'
    const bucket = (readInstant(this.#bytes, start + 1) - this.#base) / this.#step
    const inside = Number.isInteger(bucket) && bucket >= 0 && bucket < this.#buckets
    if (!inside || !this.#builder.bucket(bucket, start)) return this.#fail('a point off the grid')
    if (separator === 0x5d) return this.#closeLane(end + 1)
    this.position = end + 1
    return 'next'
  }

  #closeLane(end: number): Step {
    this.#bytes[end - 1] = 0x2c
    this.#builder.endLane(end)
    this.position = end
    this.#state = 'lane'
    return 'next'
  }

  /** A point that is not as expected: incomplete where the bytes in hand end inside it, wrong otherwise. */
  #stop(start: number, at: number): Step {
    this.position = start
    return at + 3 >= this.#length ? 'more' : 'failed'
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
    this.failure = failure
    return 'failed'
  }
}
