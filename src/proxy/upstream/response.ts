/** A response on its way from the database: once, in order, within its deadline, as it came over the wire. */
import type { Dispatcher } from 'undici'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Broken, ResponseHandler, UpstreamCall } from '../../engine/ports.ts'
import { connectTimeoutMs } from './endpoint.ts'
import type { Pace, Paced } from './pace.ts'
import type { Slot } from './slots.ts'

export interface ReaderOptions {
  readonly clock: Clock
  readonly idleTimeoutMs: number
  readonly attempts: Attempts
  readonly pace: Pace
  /** Its connection. */
  readonly slot: Pick<Slot, 'leave' | 'hold' | 'proceed'>
}

/** The attempts that one request takes. */
export interface Attempts {
  /** A byte of the response has arrived. */
  begun(): void
  /** The head of the response has arrived. */
  answered(status: number): void
  /** The response to the client, or undefined where the query is repeated. */
  failed(error: Error): Broken | undefined
  timedOut(): void
  /** Nothing more will come. */
  ended(): void
}

/** How long a query waits for a connection at least: one that cannot be made shall be reported as such. */
const leastUnsentMs = 2 * connectTimeoutMs

export class ResponseReader implements Dispatcher.DispatchHandler, UpstreamCall, Paced {
  readonly #handler: ResponseHandler
  readonly #options: ReaderOptions
  #controller: Dispatcher.DispatchController | undefined
  /** The handler cannot take more. */
  #isHeld = false
  /** Others have their turn. */
  #isWaiting = false
  #isOver = false
  #lastActivity = 0
  #timer: Timer | undefined

  constructor(handler: ResponseHandler, options: ReaderOptions) {
    this.#handler = handler
    this.#options = options
  }

  /** The query may have a connection from now on. */
  begin(): void {
    this.#lastActivity = this.#options.clock.elapsed()
    this.#watch(this.#options.idleTimeoutMs)
  }

  cancel(): void {
    if (this.#finish()) this.#controller?.abort(new Error('given up'))
  }

  /** Gives the connection up for requests that wait for one. */
  cut(): void {
    if (this.#isOver) return
    this.fail({ reason: 'database_timeout', detail: 'the client reads too slowly' })
    this.#controller?.abort(new Error('given up'))
  }

  pause(isForClient = false): void {
    this.#isHeld = true
    if (isForClient && !this.#isOver) this.#options.slot.hold()
    this.#controller?.pause()
  }

  resume(): void {
    this.#isHeld = false
    this.#options.slot.proceed()
    this.#goOn()
  }

  proceed(): void {
    this.#isWaiting = false
    this.#goOn()
  }

  fail(broken: Broken): void {
    if (this.#finish()) this.#handler.failed(broken)
  }

  /** Whether the handler takes another response in place of the one that broke off. */
  restart(): boolean {
    return this.#handler.restart?.() === true
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#lastActivity = this.#options.clock.elapsed()
    if (this.#isOver) controller.abort(new Error('given up'))
  }

  onResponseStarted(): void {
    this.#options.attempts.begun()
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (this.#isOver || status < 200) return
    this.#lastActivity = this.#options.clock.elapsed()
    this.#options.attempts.answered(status)
    this.#handler.head(status, headerList(controller.rawHeaders))
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return
    this.#lastActivity = this.#options.clock.elapsed()
    this.#handler.data(chunk)
    this.#waitAfter(chunk.length)
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#finish()) this.#handler.end(headerList(controller.rawTrailers))
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return
    this.#controller = undefined
    const broken = this.#options.attempts.failed(error)
    if (broken !== undefined) this.fail(broken)
    else this.#lastActivity = this.#options.clock.elapsed()
  }

  #goOn(): void {
    this.#lastActivity = this.#options.clock.elapsed()
    if (!this.#isHeld && !this.#isWaiting && this.#controller?.paused) this.#controller.resume()
  }

  #waitAfter(bytes: number): void {
    if (this.#isOver || this.#isWaiting || !this.#options.pace.read(bytes, this)) return
    this.#isWaiting = true
    this.#controller?.pause()
  }

  /** Instead of one timer per chunk: when it rings, it looks how long ago the last byte came. */
  #watch(delayMs: number): void {
    const { clock, attempts, idleTimeoutMs } = this.#options
    this.#timer = clock.after(delayMs, () => {
      const isSent = this.#controller !== undefined
      const patienceMs = isSent ? idleTimeoutMs : Math.max(idleTimeoutMs, leastUnsentMs)
      const idle = this.#controller?.paused ? 0 : clock.elapsed() - this.#lastActivity
      if (idle < patienceMs) this.#watch(Math.min(patienceMs - idle, idleTimeoutMs))
      // A query without a connection shows nothing about the database.
      else if (!isSent) this.fail({ reason: 'queue_full', detail: `not sent within ${patienceMs} ms` })
      else {
        attempts.timedOut()
        // In this order: aborting reports an error of its own at once.
        this.fail({ reason: 'database_timeout', detail: `no byte for ${patienceMs} ms` })
        this.#controller?.abort(new Error('timed out'))
      }
    })
  }

  #finish(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#timer?.cancel()
    this.#options.attempts.ended()
    this.#options.slot.leave()
    return true
  }
}

function headerList(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  return Array.isArray(raw)
    ? raw.map((item) => (typeof item === 'string' ? item : item.toString('latin1')))
    : []
}
