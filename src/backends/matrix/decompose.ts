/**
 * Cuts a matrix answer into a pane while it arrives. The slab is the body itself: nothing is printed again. The scanner
 * notes where the points are; this sink holds the bytes, and reads what is behind the last series.
 */
import { isUtf8 } from 'node:buffer'
import { noBytes } from '../../core/bytes.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { Grid } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import { PaneBuilder } from '../../core/pane-builder.ts'
import { ingestScratch } from '../../core/scratch.ts'
import type { Decomposed, HeaderList, ResponseEnds, Sink, Unusable } from '../backend.ts'
import { readAnnotations } from './annotations.ts'
import { SeriesScanner } from './series-scanner.ts'
import { lineFeed, openings, plainWire, type Wire } from './wire.ts'

export class MatrixSink implements Sink {
  readonly #interval: Interval
  readonly #wire: Wire
  readonly #builder = new PaneBuilder(openings.length)
  readonly #scanner: SeriesScanner
  /** Always one byte longer than its content: a zero behind the last byte stops every inner loop. */
  #bytes = ingestScratch.acquire(16_384)
  #length = 0

  constructor(grid: Grid, interval: Interval, wire: Wire = plainWire) {
    this.#interval = interval
    this.#wire = wire
    this.#scanner = new SeriesScanner(this.#builder, { grid, interval }, wire)
  }

  get held(): number {
    return this.#bytes.length + this.#builder.held
  }

  write(chunk: Uint8Array): void {
    if (this.#scanner.failure !== undefined) return
    const end = this.#length + chunk.length
    if (end >= this.#bytes.length) this.#bytes = ingestScratch.grow(this.#bytes, this.#length, end + 1)
    this.#bytes.set(chunk, this.#length)
    this.#bytes[end] = 0
    this.#length = end
    this.#scanner.scan(this.#bytes, end)
  }

  end(fetchedAt: EpochMs, response?: ResponseEnds): Decomposed | Unusable {
    const decomposed = this.#decomposed(fetchedAt, response?.headers ?? [])
    if ('unusable' in decomposed) this.#builder.abandon()
    // Later bytes are ignored: the buffer belongs to the next answer.
    ingestScratch.release(this.#bytes)
    this.#bytes = noBytes
    this.#scanner.failure = 'the answer is over'
    return decomposed
  }

  #decomposed(fetchedAt: EpochMs, headers: HeaderList): Decomposed | Unusable {
    const { failure, isDone, position, envelope } = this.#scanner
    if (failure !== undefined) return { unusable: failure }
    const endsLine = this.#wire.lineFeed !== undefined && this.#bytes[this.#length - 1] === lineFeed
    if (!isDone || (this.#wire.lineFeed === 'always' && !endsLine))
      return { unusable: 'the answer is cut short' }
    const trailer = this.#bytes.subarray(position, endsLine ? this.#length - 1 : this.#length)
    // Bytes that are not UTF-8 could not be printed unchanged.
    const annotations = isUtf8(trailer)
      ? readAnnotations(trailer.toString(), this.#wire.executionMembers)
      : undefined
    if (annotations === undefined) return { unusable: 'unexpected fields behind the result' }
    const pane = this.#builder.finish({
      interval: this.#interval,
      fetchedAt,
      slab: this.#builder.columns === 0 ? noBytes : this.#bytes.subarray(0, position),
      frame: endsLine ? Buffer.of(...envelope.frame, lineFeed) : envelope.frame,
      notes: annotations.notes,
    })
    const isPartial = envelope.isPartial || this.#wire.isPartial?.(headers) === true
    return { panes: [pane], storable: annotations.storable && !isPartial }
  }
}
