/**
 * The body of a request: gathered within limits, as a stream where the caller can wait, and without one where it should
 * not.
 */
import type { Readable } from 'node:stream'
import { noBytes } from '../../core/bytes.ts'
import { IncomingMessage } from '../../core/node-http.ts'
import { TappedMessage } from '../../core/runtime.ts'
import type { Arrival, Arrivals } from './arrivals.ts'
import type { ClientRequest } from './exchange.ts'

export interface BodyLimits {
  readonly maxBytes: number
  /** Takes room in memory for a body that is complete; false where there is none. */
  hold(bytes: number): boolean
  /** Where bodies are counted until they are complete. */
  readonly arrivals?: Arrivals
}

/** A body, or why there is none: the client may have gone before its end. */
export type Body = Buffer | 'too long' | 'no room' | 'gone'

/** Gathers a body and reports it, or its failure, once. Bytes beyond the limit are not read. */
class Gatherer {
  readonly #limits: BodyLimits
  readonly #onBody: (body: Body) => void
  readonly #arrival: Arrival | undefined
  #chunks: Buffer[] = []
  #length = 0
  #isOver = false

  constructor(limits: BodyLimits, onBody: (body: Body) => void) {
    this.#limits = limits
    this.#onBody = onBody
    this.#arrival = limits.arrivals?.begin(() => this.#deliver('no room'))
  }

  /** Returns false where no more is wanted. */
  add(chunk: Buffer): boolean {
    if (this.#isOver) return false
    this.#length += chunk.length
    if (this.#length > this.#limits.maxBytes) this.#deliver('too long')
    else if (this.#arrival?.grow(chunk.length) === false) this.#deliver('no room')
    else this.#chunks.push(chunk)
    return !this.#isOver
  }

  end(): void {
    const chunks = this.#chunks
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    this.#arrival?.end()
    this.#deliver(this.#limits.hold(body.length) ? body : 'no room')
  }

  gone(): void {
    this.#deliver('gone')
  }

  #deliver(body: Body): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#chunks = []
    this.#arrival?.end()
    this.#onBody(body)
  }
}

/** A request as node:http has read it. One whose body is not gathered is the stream that it always was. */
export type HttpRequest = IncomingMessage & ClientRequest

/** Gathers its body where node:http hands it over. */
export class GatheredMessage extends TappedMessage implements ClientRequest {
  #gatherer: Gatherer | undefined

  /** Synchronous where the body is already there: most bodies come with their heads. */
  gather(limits: BodyLimits, onBody: (body: Body) => void): void {
    this.#gatherer = new Gatherer(limits, onBody)
    this.tapBody((chunk) => this.#receive(chunk))
  }

  get unread(): this {
    return this
  }

  #receive(chunk: Buffer | null): boolean {
    const gatherer = this.#gatherer
    if (gatherer === undefined) return false
    if (chunk !== null) return gatherer.add(chunk)
    // The connection remembers its last request: that must not keep the body.
    this.#gatherer = undefined
    gatherer.end()
    return false
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#gatherer?.gone()
    this.#gatherer = undefined
    super._destroy(error, callback)
  }
}

/** Gathers its body as a stream. */
export class StreamedMessage extends IncomingMessage implements ClientRequest {
  gather(limits: BodyLimits, onBody: (body: Body) => void): void {
    gatherStream(this, new Gatherer(limits, onBody))
  }

  get unread(): this {
    return this
  }
}

/** The body of any request, for callers that can wait. */
export function bodyOf(message: IncomingMessage, maxBytes: number): Promise<Body> {
  // With `optimizeEmptyRequests` node:http emits neither `end` nor `close` for a request without a body.
  if (!hasBody(message)) return Promise.resolve(noBytes)
  return new Promise((resolve) => {
    gatherStream(message, new Gatherer({ maxBytes, hold: () => true }, resolve))
  })
}

function gatherStream(message: IncomingMessage, gatherer: Gatherer): void {
  const receive = (chunk: Buffer) => {
    if (!gatherer.add(chunk)) message.off('data', receive).pause()
  }
  // Without a listener for errors node:http emits none, and the close follows.
  message.on('data', receive).on('end', () => gatherer.end())
  message.on('close', () => gatherer.gone())
}

/** A longer body is passed on while it arrives. */
const maxSmallBodyBytes = 1024 * 1024

/** `no room`: it was given up because incomplete requests take too much memory. */
export type ForwardBody = Buffer | Readable | 'no room' | 'gone'

/**
 * The body of a request that is passed on: in full where it is small, so that no connection to the database waits for a slow client;
 * otherwise as the stream that it came as.
 */
export function smallBodyOf(
  message: Readable & Pick<ClientRequest, 'headers'>,
  { hold, arrivals }: Pick<BodyLimits, 'hold' | 'arrivals'>,
  onBody: (body: ForwardBody) => void,
): void {
  if (Number(message.headers['content-length'] ?? 0) > maxSmallBodyBytes) {
    onBody(message)
    return
  }
  const chunks: Buffer[] = []
  let length = 0
  let isDelivered = false
  const deliver = (body: ForwardBody) => {
    isDelivered = true
    message.off('data', receive).off('end', end).off('close', gone)
    onBody(body)
  }
  const arrival = arrivals?.begin(() => (isDelivered ? message.destroy() : deliver('no room')))
  const receive = (chunk: Buffer) => {
    chunks.push(chunk)
    length += chunk.length
    const isKept = arrival?.grow(chunk.length) !== false
    if (isDelivered || (isKept && length <= maxSmallBodyBytes)) return
    message.pause()
    message.unshift(Buffer.concat(chunks.splice(0)))
    // Bytes that were put back are in memory until the database reads them.
    message.once('close', () => arrival?.end())
    deliver(message)
  }
  const end = () => {
    arrival?.end()
    // It is small and complete: it is passed on, whether or not the budget has room.
    hold(length)
    deliver(Buffer.concat(chunks))
  }
  const gone = () => {
    arrival?.end()
    deliver('gone')
  }
  message.on('data', receive).on('end', end).on('close', gone)
}

export function hasBody({ headers }: Pick<ClientRequest, 'headers'>): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}
