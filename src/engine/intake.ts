/**
 * The intake of one response: wire bytes → decoded → counted in the budget → split into panes → a value, also on
 * failure. A client that requested all of it is a tee: it gets the wire bytes as they arrive and does not wait for any
 * of the rest.
 */
import type { Transform } from 'node:stream'
import type { HeaderList, Sink } from '../backends/backend.ts'
import type { Budget } from '../core/budget.ts'
import type { EpochMs } from '../core/clock.ts'
import type { ServingReason } from '../core/decision.ts'
import { headerOf } from '../core/headers.ts'
import { BackPressure } from './back-pressure.ts'
import type { Backlog } from './backlog.ts'
import { DecodedBody } from './decoded-body.ts'
import { decoderFor } from './decoder.ts'
import { errorOf, type FetchResult, fetchedBy, type Look } from './fetch.ts'
import type { AnswerTerms } from './http/answer-terms.ts'
import type { Broken, ResponseHandler, StreamTarget, UpstreamCall } from './ports.ts'
import { Tee } from './tee.ts'
import { Unsplit } from './unsplit.ts'

export interface IntakeOptions {
  readonly fetchedAt: EpochMs
  /** Called when a successful response begins: the permissions of its headers. */
  readonly termsOf: (headers: HeaderList) => AnswerTerms
  /** Called when a response begins: again where the first one broke off. */
  readonly newSink: () => Sink
  readonly budget: Budget
  readonly backlog: Backlog
  readonly maxAnswerBytes: number
  /** Gets the response while it arrives. */
  readonly target?: StreamTarget | undefined
  /** The target gets every response, also server errors and undecodable bodies. Otherwise these are withheld. */
  readonly isTransparent?: boolean
  /**
   * A response of no more bytes than this is kept from the target: the caller answers with the result. Only a response that is
   * unusable is given to the target all the same.
   */
  readonly withheldBytes?: number
  /** Error statuses that are kept from the target: it is given another answer. */
  readonly strictStatuses?: readonly number[] | undefined
  /** The target is given the end of the response, which is not stored yet. */
  readonly onDelivered?: () => void
  /** Stores the result, before `result` resolves. */
  readonly land: (result: FetchResult) => Promise<void>
}

/**
 * An encoded response this short is decoded before its client gets any of it, a longer one in its beginning: where it turns out
 * to be broken, the client can still be given another answer.
 */
const provenBytes = 16 * 1024

export class Intake implements ResponseHandler {
  /** The result for every member of the flight. */
  readonly result: Promise<FetchResult>
  readonly #options: IntakeOptions
  readonly #tee: Tee
  readonly #pressure = new BackPressure()
  readonly #unsplit: Unsplit
  #resolve!: (result: FetchResult) => void
  #status = 0
  #headers: HeaderList = []
  #trailers: HeaderList = []
  #decoder: Transform | undefined
  #body: DecodedBody | undefined
  #terms: AnswerTerms | undefined
  /** Wire bytes still to come, where the response has a Content-Length. */
  #remaining = Number.POSITIVE_INFINITY
  #hasArrived = false
  #isSettled = false

  constructor(options: IntakeOptions) {
    this.#options = options
    this.#tee = new Tee(options.target)
    this.#unsplit = new Unsplit({
      backlog: options.backlog,
      split: (piece) => {
        this.#split(piece)
        this.#endIfSplit()
      },
      proceed: () => this.#pressure.clear('backlog'),
    })
    void this.#tee.finished.then(() => this.#body?.count(0))
    this.result = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Whether the target has been given a byte, and so is given the rest. */
  get isStreaming(): boolean {
    return this.#tee.hasBegun
  }

  /** Resolves when nothing more will be written to the target. */
  get delivered(): Promise<void> {
    return this.#tee.finished
  }

  /** Whether `result` is decided. */
  get isOver(): boolean {
    return this.#isSettled
  }

  /** 0 before the response has begun. */
  get status(): number {
    return this.#status
  }

  /** Called once, with the result of `Upstream.send`. */
  sent(call: UpstreamCall): void {
    this.#pressure.sent(call)
  }

  /** No client waits any longer, or all are to look again. */
  cancel(look?: Look): void {
    this.#pressure.cancel()
    this.#tee.drop()
    this.#settle({ kind: 'abandoned', look })
  }

  /** The target is gone, or is given another answer; the intake goes on for the store. */
  dropTarget(): void {
    this.#tee.drop()
    // A response that is not being kept was for this client alone.
    if (this.#isSettled) this.#pressure.cancel()
  }

  head(status: number, headers: HeaderList): void {
    this.#status = status
    this.#headers = headers
    this.#remaining = Number(headerOf(headers, 'content-length') ?? Number.POSITIVE_INFINITY)
    if (status === 200) this.#terms = this.#options.termsOf(headers)
    if (this.#isForTarget(status)) this.#tee.head(status, headers)
    if (this.#isSettled) return
    this.#decoder = decoderFor(headers, {
      data: (chunk) => {
        this.#releaseLong()
        this.#split(chunk)
      },
      end: () => this.#decoded(),
      undecodable: (detail) => this.#undecodable(detail),
    })
    this.#decoder?.on('drain', () => this.#pressure.clear('decoder'))
    const { isTransparent, withheldBytes } = this.#options
    if ((this.#decoder !== undefined && isTransparent !== true) || withheldBytes !== undefined)
      this.#tee.hold()
    this.#body = new DecodedBody({ ...this.#options, headers, isError: status !== 200 })
  }

  /**
   * On a server error a stale answer from the store, or the answer to its own request, may be better for the client.
   */
  #isForTarget(status: number): boolean {
    if (this.#options.isTransparent === true) return true
    return status < 500 && this.#options.strictStatuses?.includes(status) !== true
  }

  data(chunk: Uint8Array): void {
    const isKeepingUp = this.#tee.write(chunk)
    this.#remaining -= chunk.length
    if (this.#decoder === undefined) this.#releaseLong()
    // A client with a Content-Length has all of it now. `end` comes later, when the decoder has caught up.
    if (this.#remaining <= 0 && !this.#tee.isHolding) this.#deliver()
    if (!this.#isSettled) this.#keep(chunk)
    // While the response is kept, the database sets the pace, and the client's unread bytes count in the budget.
    if (isKeepingUp || !this.#isSettled) return
    this.#pressure.block('client')
    this.#tee.onDrain(() => this.#pressure.clear('client'))
  }

  end(trailers: HeaderList): void {
    this.#trailers = trailers
    this.#hasArrived = true
    // Only the decoder knows whether an encoded response is whole.
    if (this.#decoder === undefined || this.#options.isTransparent === true) this.#deliver()
    if (this.#isSettled) return
    this.#decoder?.end()
    this.#unsplit.end()
    this.#endIfSplit()
  }

  failed(broken: Broken): void {
    this.#tee.abort()
    this.#settle({ kind: 'broken', ...broken })
  }

  restart(): boolean {
    if (this.#isSettled || !this.#tee.restart()) return false
    this.#dropKept()
    this.#status = 0
    return true
  }

  #keep(chunk: Uint8Array): void {
    if (this.#decoder === undefined) {
      if (!this.#unsplit.add(chunk, !this.#tee.isOpen)) this.#pressure.block('backlog')
    } else if (!this.#body!.count(this.#tee.unsent)) this.giveUp('memory_exhausted', 'before it was decoded')
    // Bytes queued in the decoder are in no budget: the database waits.
    else if (!this.#decoder.write(chunk)) this.#pressure.block('decoder')
  }

  #split(chunk: Uint8Array): void {
    if (this.#isSettled) return
    const unkept = this.#body!.write(chunk, this.#tee.unsent)
    if (unkept === undefined) return
    if (this.#status < 500 || this.#tee.isOpen) this.giveUp(unkept.reason, unkept.detail)
    else {
      // A server error that does not end is a server error.
      this.#pressure.cancel()
      const detail = `status ${this.#status}, body not kept (${unkept.reason} ${unkept.detail})`
      this.#settle({ kind: 'broken', reason: 'database_error', detail })
    }
  }

  /** Members go their own way at once; only a client that has a part of the response waits for the rest. */
  giveUp(reason: ServingReason, detail: string): void {
    this.#settle({ kind: 'unusable', reason, detail })
    if (!this.#tee.isOpen) this.#pressure.cancel()
    else if (this.#hasArrived) this.#deliver()
  }

  /** A response that is too long to be kept from its client any longer. */
  #releaseLong(): void {
    if (this.#tee.heldBytes <= (this.#options.withheldBytes ?? provenBytes)) return
    this.#tee.release()
    if (this.#remaining <= 0) this.#deliver()
  }

  #deliver(): void {
    // Before there is a result it may still be unusable.
    if (this.#options.withheldBytes !== undefined && this.#tee.isHolding) return
    if (this.#tee.isOpen && !this.#isSettled) this.#options.onDelivered?.()
    // The target itself counts what its client has not read of a whole response.
    this.#body?.count(0)
    this.#tee.end()
  }

  #decoded(): void {
    this.#decoder = undefined
    this.#deliver()
    this.#endIfSplit()
  }

  #undecodable(detail: string): void {
    if (this.#isSettled) return
    if (this.#options.isTransparent === true) this.giveUp('unusable_answer', detail)
    else {
      this.#pressure.cancel()
      this.failed({ reason: 'database_unreachable', detail })
    }
  }

  #endIfSplit(): void {
    const isSplit = this.#hasArrived && this.#decoder === undefined && !this.#unsplit.isHolding
    if (!isSplit || this.#isSettled) return
    const [headers, trailers] = [this.#headers, this.#trailers]
    const { sink, error } = this.#body!
    this.#settle(
      sink === undefined
        ? errorOf({ status: this.#status, headers, body: error })
        : fetchedBy(sink, { headers, trailers }, { fetchedAt: this.#options.fetchedAt, terms: this.#terms! }),
    )
    this.#deliver()
  }

  #settle(result: FetchResult): void {
    if (this.#isSettled) return
    this.#isSettled = true
    if (result.kind === 'unusable') this.#tee.release()
    else if (this.#tee.isHolding) this.#tee.drop()
    this.#dropKept()
    const resolve = () => this.#resolve(result)
    this.#options.land(result).then(resolve, resolve)
  }

  #dropKept(): void {
    this.#body?.drop(this.#tee.unsent)
    this.#decoder?.destroy()
    this.#decoder = undefined
    this.#unsplit.drop()
    this.#pressure.clear('decoder')
    this.#pressure.clear('backlog')
  }
}
