/** Everything that is written to a client: head with the decision in it, and body. */
import type { ErrorAnswer, HeaderList, Plan, WireRequest } from '../../backends/backend.ts'
import type { WholePlan } from '../../backends/whole-answers.ts'
import type { EpochMs } from '../../core/clock.ts'
import { type Decision, newDecision, resetDecision } from '../../core/decision.ts'
import type { Written } from '../../core/scratch.ts'
import { bodyHeaders, decisionHeaders, endToEnd, serverTiming } from '../../engine/http/headers.ts'
import type { Encoding, StreamTarget } from '../../engine/ports.ts'
import type { Client } from '../../engine/trip.ts'
import type { SpanIds } from '../../telemetry/channels.ts'
import type { Visit } from '../../telemetry/record.ts'
import { negotiate, type Packing, packingOf } from '../compression/encoding.ts'
import type { PackOptions } from '../compression/pack-answer.ts'
import type { ClientRequest, Reply } from '../front/exchange.ts'
import { maxShortBytes, type ShortBody } from '../front/send-buffer.ts'
import { sendWhole } from '../front/send-whole.ts'
import { type StallOptions, StallWatch } from '../front/stall.ts'
import type { Ticket } from '../quotas/ticket.ts'
import { type MemoryOptions, ReplyMemory } from './reply-memory.ts'

export interface OutgoingOptions extends StallOptions, PackOptions, MemoryOptions {
  readonly via: string
  /** Decides at its beginning whether a request is traced. */
  readonly trace?: (headers: HeaderList) => SpanIds | undefined
}

type CancelledAnswer = ErrorAnswer & { readonly status: number }

/** One response, as a client the engine can wait with, a target it can stream to, and a visit to look back on. */
export class Outgoing implements Client, StreamTarget, Visit {
  readonly encoding: Encoding
  /** The encoding of answers made here. */
  readonly packing: Packing
  readonly options: OutgoingOptions
  readonly memory: ReplyMemory
  readonly decision: Decision = newDecision()
  readonly trace: SpanIds | undefined
  plan: Plan | undefined
  /** Where its answer is kept as a whole. */
  kept: WholePlan | undefined
  wire: WireRequest | undefined
  question: string | undefined
  endpoint: string | undefined
  isForwarded = false
  /** Whether it counts as a request under way. */
  isCounted = false
  /** The body of the request is still arriving: after a refusal the connection cannot be used again. */
  hasUnreadBody = false
  /** Where the client is limited. */
  ticket: Ticket | undefined
  bytes = 0
  readonly #request: ClientRequest
  readonly #response: Reply
  readonly #began: number
  readonly #stall: StallWatch
  #isBroken = false
  #isCancelled = false
  readonly #onCancelled: (() => void)[] = []

  constructor(request: ClientRequest, response: Reply, options: OutgoingOptions) {
    this.#request = request
    this.#response = response
    this.options = options
    this.#stall = new StallWatch(response, options)
    this.memory = new ReplyMemory(response, options)
    this.#began = options.clock.elapsed()
    this.trace = options.trace?.(request.rawHeaders)
    const accepted = request.headers['accept-encoding'] as string | undefined
    this.encoding = negotiate(accepted)
    this.packing = packingOf(accepted)
  }

  /** A client that has cancelled its query no longer waits, though it may still be connected. */
  get isGone(): boolean {
    return this.#isCancelled || (this.#response.destroyed && !this.#response.writableFinished)
  }

  onGone(callback: () => void): void {
    if (this.isGone) {
      callback()
      return
    }
    if (this.plan?.queryId !== undefined) this.#onCancelled.push(callback)
    this.#response.once('close', () => {
      if (!this.#isCancelled && !this.#response.writableFinished) callback()
    })
  }

  get method(): string {
    return this.#request.method ?? ''
  }

  get path(): string {
    const target = this.#request.url ?? ''
    const mark = target.indexOf('?')
    return mark < 0 ? target : target.slice(0, mark)
  }

  get ending(): Visit['ending'] {
    if (this.#isBroken) return 'broken'
    return this.isGone && !this.#isCancelled ? 'gone' : 'whole'
  }

  get isCancelled(): boolean {
    return this.#isCancelled
  }

  /** Empty where the connection is closed already, or has none. */
  get clientAddress(): string {
    return this.#response.socket?.remoteAddress ?? ''
  }

  /** 0 where no answer was begun. */
  get status(): number {
    return this.hasBegun ? this.#response.statusCode : 0
  }

  get totalMs(): number {
    return this.options.clock.elapsed() - this.#began
  }

  get endedAt(): EpochMs {
    return this.options.clock.now()
  }

  get unsent(): number {
    return this.#response.writableLength
  }

  get hasBegun(): boolean {
    return this.#response.headersSent
  }

  /** A response of the database that is passed on while it arrives. */
  head(status: number, headers: HeaderList): void {
    const { decision } = this
    decision.upstreamStatus = status
    // The database's refusal of a query that would have been stored is an error, not a miss.
    if (status >= 300 && decision.outcome !== 'bypass') {
      resetDecision(decision)
      decision.reason = 'database_refused'
      decision.upstreamStatus = status
    }
    if (this.isGone || this.hasBegun) return
    const { timings } = decision
    timings.fetch = this.options.clock.elapsed() - this.#began - timings.plan - timings.lookup
    const passed = endToEnd(headers)
    this.#response.writeHead(status, passed.concat(this.#ownHeaders(passed)))
  }

  write(chunk: Uint8Array): boolean {
    if (this.isGone) return true
    this.bytes += chunk.length
    const isKeepingUp = this.#response.write(chunk)
    if (!isKeepingUp) this.#stall.watch()
    return isKeepingUp
  }

  onDrain(resume: () => void): void {
    this.#response.once('drain', resume)
  }

  end(): void {
    this.#response.end()
    this.memory.holdUnsent()
    this.#stall.watch()
  }

  /** After this answer the connection is closed: a request that was not read to its end makes it unusable. */
  closeAfterResponse(): void {
    this.#response.shouldKeepAlive = false
  }

  abort(): void {
    this.#isBroken = true
    this.#response.destroy()
  }

  /** Sends an answer that is kept for others too. */
  sendKept(headers: HeaderList, bytes: Buffer): void {
    this.send(200, headers, { bytes, release: () => {} })
    const isUnsent = !this.#response.closed && !this.#response.writableFinished
    if (isUnsent) this.memory.holdShared([bytes.buffer])
  }

  /** Returns false where it is not short, or node:http has to send it. */
  sendShort(headers: HeaderList, body: ShortBody): boolean {
    const response = this.#response
    if (body.length > maxShortBytes || response.sendWhole === undefined) return false
    if (this.isGone || this.hasBegun) return true
    const own = this.#ownHeaders(headers)
    own.push('Content-Length', String(body.length))
    if (!response.sendWhole(200, { given: headers, own }, body)) return false
    this.bytes += body.length
    this.#stall.watch()
    return true
  }

  /** Sends the pieces of a body from where they lie. */
  sendWhole(status: number, headers: HeaderList, body: readonly Uint8Array[]): void {
    let length = 0
    for (let i = 0; i < body.length; i++) length += body[i]!.length
    const own = this.#ownHeaders(headers)
    own.push('Content-Length', String(length))
    this.bytes += length
    sendWhole(this.#response, { status, given: headers, own }, body)
    this.#stall.watch()
  }

  /** The client has this answer already. */
  notModified(headers: HeaderList): void {
    if (this.isGone || this.hasBegun) return
    const head = { status: 304, given: headers, own: this.#ownHeaders(headers) }
    sendWhole(this.#response, head, [])
  }

  /** The client has cancelled its query, and gets that response, if it has no other yet. */
  cancel({ status, contentType, body }: CancelledAnswer): void {
    resetDecision(this.decision)
    this.decision.reason = 'cancelled'
    if (this.hasBegun) this.abort()
    else this.whole(status, ['Content-Type', contentType], Buffer.from(body))
    this.#isCancelled = true
    for (const callback of this.#onCancelled) callback()
  }

  /** A whole response: the database's own error, or ours. */
  whole(status: number, headers: HeaderList, body: Uint8Array): void {
    const kept = endToEnd(headers, bodyHeaders)
    this.send(status, kept, { bytes: body, release: () => {} })
    this.memory.holdUnsent()
  }

  /** Sends bytes that are released when the client has them, or is gone. */
  send(status: number, headers: HeaderList, body: Written): void {
    if (this.isGone || this.hasBegun) {
      body.release()
      return
    }
    // `close` comes after the last byte was taken, or when the client is gone: never while the bytes are needed.
    this.#response.once('close', body.release)
    this.sendWhole(status, headers, [body.bytes])
  }

  #ownHeaders(headers: HeaderList): string[] {
    const list = decisionHeaders(this.decision, headers)
    if (this.ticket !== undefined) list.push(...this.ticket.fields)
    list.push('Server-Timing', serverTiming(this.decision, this.totalMs), 'Via', `1.1 ${this.options.via}`)
    return list
  }
}
