/** An answer on its way from the database: once, in order, within its deadline, with the content encoding undone. */
import type { Transform } from 'node:stream'
import { createGunzip, createInflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import type { HeaderList } from '../../backends/backend.ts'
import type { Clock } from '../../core/clock.ts'
import { headerOf } from '../../core/headers.ts'
import type { Broken, Exchange, ResponseHandler } from '../../engine/ports.ts'
import type { Pace, Paced } from './pace.ts'

export interface ReaderOptions {
  readonly clock: Clock
  readonly idleTimeoutMs: number
  /** Whether the handler wants `data`; where it passes on `raw`, a broken encoding is none of our business. */
  readonly isDecoding: boolean
  readonly journey: Journey
  readonly pace: Pace
}

/** What is short is split sooner than it is put off. */
const shortBytes = 64 * 1024
/** Of one answer; who waits for it to be split waits for so much at most. */
const mostHeld = 2 * 1024 * 1024

/** The attempts that one request takes. */
export interface Journey {
  /** The database has begun to answer. */
  answered(status: number): void
  /** What to tell the client, or undefined where another database is being asked instead. */
  failed(error: Error): Broken | undefined
  timedOut(): void
  /** Nothing more will come. */
  over(): void
}

export class ResponseReader implements Dispatcher.DispatchHandler, Exchange, Paced {
  readonly #handler: ResponseHandler
  readonly #options: ReaderOptions
  #controller: Dispatcher.DispatchController | undefined
  #decoder: Transform | undefined
  #isDecoding: boolean
  /** The handler or the decoder cannot take more. */
  #isHeld = false
  /** Others have their turn. */
  #isWaiting = false
  #isOver = false
  #hasEnded = false
  #trailers: HeaderList = []
  /** What has arrived and is not split yet. */
  #pieces: Buffer[] = []
  #heldBytes = 0
  #lastActivity: number
  #timer: { cancel(): void }

  constructor(handler: ResponseHandler, options: ReaderOptions) {
    this.#handler = handler
    this.#options = options
    this.#isDecoding = options.isDecoding
    this.#lastActivity = options.clock.elapsed()
    this.#timer = this.#watch(options.idleTimeoutMs)
  }

  cancel(): void {
    if (!this.#finish()) return
    this.#decoder?.destroy()
    this.#controller?.abort(new Error('given up'))
  }

  stopDecoding(): void {
    this.#decoder?.destroy()
    this.#decoder = undefined
    this.#isDecoding = false
    this.#dropPieces()
    // All raw bytes may be in already: the decoder was to tell of the end, and no longer can.
    if (this.#hasEnded && this.#finish()) this.#handler.end(this.#trailers)
    else this.resume()
  }

  pause(): void {
    this.#isHeld = true
    this.#controller?.pause()
  }

  resume(): void {
    this.#isHeld = false
    this.#goOn()
  }

  proceed(): void {
    this.#isWaiting = false
    this.#goOn()
  }

  get isHolding(): boolean {
    return this.#pieces.length > 0
  }

  splitNext(): number {
    const { clock } = this.#options
    const began = clock.elapsed()
    const piece = this.#pieces.shift()!
    this.#release(piece.length)
    this.#handler.data(piece)
    this.#endIfSplit()
    return clock.elapsed() - began
  }

  hurry(): void {
    while (this.isHolding) this.splitNext()
  }

  fail(broken: Broken): void {
    if (this.#finish()) this.#handler.failed(broken)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isOver) controller.abort(new Error('given up'))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (this.#isOver || status < 200) return
    this.#lastActivity = this.#options.clock.elapsed()
    this.#options.journey.answered(status)
    const headers = headerList(controller.rawHeaders)
    if (this.#isDecoding) this.#decoder = this.#decoderFor(headerOf(headers, 'content-encoding'))
    this.#handler.head(status, headers)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return
    this.#lastActivity = this.#options.clock.elapsed()
    this.#handler.raw?.(chunk)
    if (this.#decoder !== undefined) this.#decode(this.#decoder, chunk)
    else if (this.#isDecoding) this.#hold(chunk)
    this.#waitAfter(chunk.length)
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) return
    this.#trailers = headerList(controller.rawTrailers)
    this.#hasEnded = true
    if (this.#decoder !== undefined) {
      this.#decoder.end()
      return
    }
    this.#timer.cancel()
    // What is short is split sooner than it is put off.
    if (this.#heldBytes <= shortBytes) this.hurry()
    else {
      this.#handler.passed?.()
      this.#options.pace.due(this)
    }
    this.#endIfSplit()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return
    this.#controller = undefined
    const broken = this.#options.journey.failed(error)
    if (broken !== undefined) this.fail(broken)
    else this.#lastActivity = this.#options.clock.elapsed()
  }

  /** Where somebody is being passed the answer, splitting waits until all of it has been: it would only delay that. */
  #hold(chunk: Buffer): void {
    const { pace } = this.#options
    this.#pieces.push(chunk)
    this.#heldBytes += chunk.length
    pace.hold(chunk.length, this)
    if (this.#handler.isStreaming !== true || this.#heldBytes > mostHeld) pace.due(this)
  }

  #release(bytes: number): void {
    this.#heldBytes -= bytes
    this.#options.pace.release(bytes, this)
  }

  #dropPieces(): void {
    this.#pieces = []
    this.#release(this.#heldBytes)
  }

  #endIfSplit(): void {
    const isSplit = this.#hasEnded && this.#decoder === undefined && !this.isHolding
    if (isSplit && this.#finish()) this.#handler.end(this.#trailers)
  }

  #goOn(): void {
    this.#lastActivity = this.#options.clock.elapsed()
    if (!this.#isHeld && !this.#isWaiting && this.#controller?.paused) this.#controller.resume()
  }

  #waitAfter(bytes: number): void {
    if (this.#isOver || this.#isWaiting || !this.#options.pace.pass(bytes, this)) return
    this.#isWaiting = true
    this.#controller?.pause()
  }

  /** A database that is quicker than the decoder waits for it: what is queued here is in no budget. */
  #decode(decoder: Transform, chunk: Buffer): void {
    if (decoder.write(chunk)) return
    this.pause()
    decoder.once('drain', () => this.resume())
  }

  #decoderFor(encoding: string | undefined) {
    if (encoding !== 'gzip' && encoding !== 'deflate') return undefined
    const decoder = encoding === 'gzip' ? createGunzip() : createInflate()
    decoder.on('data', (chunk: Buffer) => {
      if (this.#isOver) return
      this.#handler.data(chunk)
      this.#waitAfter(chunk.length)
    })
    decoder.on('end', () => {
      if (this.#finish()) this.#handler.end(this.#trailers)
    })
    decoder.on('error', (error) => this.#undecodable(`broken ${encoding} body: ${error.message}`, error))
    return decoder
  }

  #undecodable(detail: string, error: Error): void {
    if (this.#isOver) return
    if (this.#handler.undecodable !== undefined) {
      this.#handler.undecodable(detail)
      this.stopDecoding()
      return
    }
    this.fail({ reason: 'database_unreachable', detail })
    this.#controller?.abort(error)
  }

  /** Instead of one timer per chunk: when it rings, it looks how long ago the last byte came. */
  #watch(delayMs: number): { cancel(): void } {
    return this.#options.clock.after(delayMs, () => {
      const idle = this.#options.clock.elapsed() - this.#lastActivity
      const left = this.#controller?.paused ? this.#options.idleTimeoutMs : this.#options.idleTimeoutMs - idle
      if (left > 0) {
        this.#timer = this.#watch(left)
        return
      }
      this.#options.journey.timedOut()
      // In this order: aborting reports an error of its own at once.
      this.fail({ reason: 'database_timeout', detail: `no byte for ${this.#options.idleTimeoutMs} ms` })
      this.#controller?.abort(new Error('timed out'))
    })
  }

  #finish(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#dropPieces()
    this.#timer.cancel()
    this.#options.journey.over()
    return true
  }
}

function headerList(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  return Array.isArray(raw)
    ? raw.map((item) => (typeof item === 'string' ? item : item.toString('latin1')))
    : []
}
