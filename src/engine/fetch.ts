/**
 * One fetch: a narrowed query on its way to the database, its answer cut into panes while it arrives and, on a full
 * miss, streamed to the client that asked. Resolves to a value whatever happens.
 */
import type { Decomposed, HeaderList, ResponseEnds, Sink, Unusable } from '../backends/backend.ts'
import type { Budget } from '../core/budget.ts'
import type { EpochMs } from '../core/clock.ts'
import type { ServingReason, StaleReason } from '../core/decision.ts'
import { headerOf } from '../core/headers.ts'
import type { Pane } from '../core/pane.ts'
import type { Broken, Exchange, ResponseHandler, StreamTarget } from './ports.ts'

export type FetchResult = FetchedPanes | DatabaseRefusal | DatabaseFailure | UnusableAnswer | Abandoned

export interface FetchedPanes {
  readonly kind: 'panes'
  /** One for each interval that was asked for, in time order. */
  readonly panes: readonly Pane[]
  readonly headers: HeaderList
  /** False where the database or its answer forbids keeping it. */
  readonly storable: boolean
  /** False where the database forbids giving it to anybody but the one who asked. */
  readonly shareable: boolean
}

/** The database's own answer that the query is wrong. */
export interface DatabaseRefusal {
  readonly kind: 'refused'
  readonly response: WholeResponse
}

/** No answer, or a server error. */
export interface DatabaseFailure {
  readonly kind: 'broken'
  readonly reason: Exclude<StaleReason, 'database_slow'>
  readonly detail: string
  readonly response?: WholeResponse
}

/** An answer that is true but cannot be cut or kept; the client must be given the database's own. */
export interface UnusableAnswer {
  readonly kind: 'unusable'
  readonly reason: ServingReason
  readonly detail: string
}

/** Nobody waited any longer. */
export interface Abandoned {
  readonly kind: 'abandoned'
}

export interface WholeResponse {
  readonly status: number
  readonly headers: HeaderList
  readonly body: Uint8Array
}

export interface FetchOptions {
  readonly fetchedAt: EpochMs
  readonly sink: Sink
  readonly budget: Budget
  readonly maxAnswerBytes: number
  /** Gets the answer while it arrives. */
  readonly target?: StreamTarget
  /** The target has all of the answer before it is stored; `hurry` stores it. */
  onUnstored?(): void
  /** Stores what was fetched; members hear of the result, and the target of the end, after it. */
  land(result: FetchResult): Promise<void>
}

/** Error bodies are small; what is longer is not one. */
const maxErrorBytes = 1024 * 1024

export class Fetch implements ResponseHandler {
  /** What every member of the flight gets. */
  readonly result: Promise<FetchResult>
  /** Resolves when nothing more will be written to the target. */
  readonly delivered: Promise<void>
  readonly #options: FetchOptions
  #resolve!: (result: FetchResult) => void
  #finishDelivery!: () => void
  #exchange: Exchange | undefined
  #target: StreamTarget | undefined
  #sink: Sink | undefined
  #status = 0
  #headers: HeaderList = []
  #received = 0
  #reserved = 0
  #errorBody: Uint8Array[] = []
  /** Raw bytes still to come, where the database said how many. */
  #remaining = Number.POSITIVE_INFINITY
  /** The chunk that completes the body: a client that has all of its answer must find it stored when it asks again. */
  #heldBack: Uint8Array | undefined
  #overflow: UnusableAnswer | undefined
  #isSettled = false
  #isDelivered = false

  constructor(options: FetchOptions) {
    this.#options = options
    this.#target = options.target
    this.result = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.delivered = new Promise((resolve) => {
      this.#finishDelivery = resolve
    })
  }

  /** Whether the target has been given the beginning of an answer, and so must be given its end. */
  get isStreaming(): boolean {
    return this.#target !== undefined && this.#status !== 0 && this.#mayStream()
  }

  /** Whether it is decided what members get. */
  get isOver(): boolean {
    return this.#isSettled
  }

  /** What has arrived is split and stored now. */
  hurry(): void {
    this.#exchange?.hurry?.()
  }

  /** Called once, with what `Upstream.send` gave. */
  sent(exchange: Exchange): void {
    this.#exchange = exchange
  }

  cancel(): void {
    this.#exchange?.cancel()
    this.#finishDelivery()
    void this.#settle({ kind: 'abandoned' })
  }

  /** The client that was streamed to is gone; the fetch goes on for others. */
  dropTarget(): void {
    this.#target = undefined
    this.#finishDelivery()
    // Once nothing is kept, the answer was for this client alone.
    if (this.#overflow === undefined) this.#exchange?.resume()
    else this.#exchange?.cancel()
  }

  head(status: number, headers: HeaderList): void {
    this.#status = status
    this.#headers = headers
    this.#remaining = Number(headerOf(headers, 'content-length') ?? Number.POSITIVE_INFINITY)
    if (status === 200) this.#sink = this.#options.sink
    if (this.isStreaming) this.#target?.head(status, headers)
  }

  raw(chunk: Uint8Array): void {
    this.#remaining -= chunk.length
    if (this.#remaining > 0 || this.#overflow !== undefined) this.#pass(chunk)
    else this.#heldBack = chunk
  }

  #pass(chunk: Uint8Array): void {
    if (this.#target === undefined || !this.isStreaming) return
    const isKeepingUp = this.#target.write(chunk)
    if (isKeepingUp || this.#overflow === undefined) return
    // Nothing is kept any more: from here on the client sets the pace.
    this.#exchange?.pause()
    this.#target.onDrain(() => this.#exchange?.resume())
  }

  data(chunk: Uint8Array): void {
    if (this.#overflow !== undefined || this.#isSettled) return
    this.#received += chunk.length
    if (this.#sink === undefined) this.#keepError(chunk)
    else if (this.#received > this.#options.maxAnswerBytes) this.#giveUpKeeping('answer_too_large')
    else this.#keep(this.#sink, chunk)
  }

  #keep(sink: Sink, chunk: Uint8Array): void {
    try {
      sink.write(chunk)
    } catch (error) {
      this.#giveUpKeeping('unusable_answer', String(error))
      return
    }
    const { budget } = this.#options
    // A short answer of many sparse series can be long in memory: one answer may not push out all others.
    if (sink.held > budget.limit / 2) this.#giveUpKeeping('answer_too_large')
    else if (!this.#reserve(sink.held + (this.#target?.unsent ?? 0))) this.#giveUpKeeping('memory_exhausted')
  }

  /** The client need not wait until its answer is split: who asks for it again makes haste. */
  passed(): void {
    if (this.#sink === undefined || !this.isStreaming) return
    this.#finishStream()
    this.#options.onUnstored?.()
  }

  end(trailers: HeaderList): void {
    if (this.#overflow !== undefined) this.#finishStream()
    else {
      const sink = this.#sink
      const result =
        sink === undefined ? this.#failureOf(Buffer.concat(this.#errorBody)) : this.#fetched(sink, trailers)
      void this.#settle(result).then(() => this.#finishStream())
    }
  }

  failed(broken: Broken): void {
    if (this.isStreaming) this.#target?.abort()
    this.#finishDelivery()
    void this.#settle({ kind: 'broken', ...broken })
  }

  #finishStream(): void {
    if (this.#isDelivered) return
    this.#isDelivered = true
    if (this.#heldBack !== undefined) this.#pass(this.#heldBack)
    if (this.isStreaming) this.#target?.end()
    this.#finishDelivery()
  }

  /** Server errors are held back: the client may be better served with what is stored. */
  #mayStream(): boolean {
    return this.#status < 500
  }

  #fetched(sink: Sink, trailers: HeaderList): FetchResult {
    const decomposed = endOf(sink, this.#options.fetchedAt, { headers: this.#headers, trailers })
    if ('unusable' in decomposed) {
      return { kind: 'unusable', reason: 'unusable_answer', detail: decomposed.unusable }
    }
    const shareable = !/\bno-store\b/i.test(headerOf(this.#headers, 'cache-control') ?? '')
    const storable = decomposed.storable && shareable
    return { kind: 'panes', panes: decomposed.panes, headers: this.#headers, storable, shareable }
  }

  #failureOf(body: Uint8Array): FetchResult {
    const response = { status: this.#status, headers: this.#headers, body }
    if (this.#status < 500) return { kind: 'refused', response }
    return { kind: 'broken', reason: 'database_error', detail: `status ${this.#status}`, response }
  }

  #keepError(chunk: Uint8Array): void {
    if (this.#received <= maxErrorBytes) this.#errorBody.push(Uint8Array.prototype.slice.call(chunk))
    else if (this.#mayStream()) this.#giveUpKeeping('unusable_answer')
    else {
      // A server error that does not end is one all the same.
      this.#exchange?.cancel()
      const detail = `status ${this.#status} with an endless body`
      void this.#settle({ kind: 'broken', reason: 'database_error', detail })
    }
  }

  #giveUpKeeping(reason: ServingReason, detail = `after ${this.#received} bytes`): void {
    this.#overflow = { kind: 'unusable', reason, detail }
    this.#sink = undefined
    this.#errorBody = []
    // Members go their own way at once; only the client that is streamed to waits for the rest.
    if (this.isStreaming) this.#exchange?.stopDecoding()
    else this.#exchange?.cancel()
    void this.#settle(this.#overflow)
  }

  #reserve(bytes: number): boolean {
    const more = bytes - this.#reserved
    if (more > 0 && !this.#options.budget.reserve(more)) return false
    if (more < 0) this.#options.budget.release(-more)
    this.#reserved = bytes
    return true
  }

  async #settle(result: FetchResult): Promise<void> {
    this.#isSettled = true
    this.#reserve(0)
    this.#sink = undefined
    await this.#options.land(result)
    this.#resolve(result)
  }
}

/** What a sink cannot take in is unusable, whatever the reason: an exception here would leave everybody waiting. */
function endOf(sink: Sink, fetchedAt: EpochMs, response: ResponseEnds): Decomposed | Unusable {
  try {
    return sink.end(fetchedAt, response)
  } catch (error) {
    return { unusable: String(error) }
  }
}
