/** The database over HTTP: the choice of its URL, the headers, and the retry when that URL is down. */
import { Readable } from 'node:stream'
import type { HeaderList, WireRequest } from '../../backends/backend.ts'
import type { Clock, Timer } from '../../core/clock.ts'
import { type AuthOptions, Credentials } from '../../core/credentials.ts'
import { headerOf } from '../../core/headers.ts'
import type { TlsServer } from '../../core/tls-files.ts'
import { conditionalHeaders, endToEnd } from '../../engine/http/headers.ts'
import type { Encoding, ResponseHandler, Upstream, UpstreamCall } from '../../engine/ports.ts'
import type { QueueFigures } from '../../telemetry/quota-families.ts'
import { RequestAttempts, type UpstreamRequest } from './attempts.ts'
import { Endpoints } from './choice.ts'
import { Endpoint, type UpstreamState } from './endpoint.ts'
import { Pace } from './pace.ts'
import { ResponseReader } from './response.ts'
import { type Concurrency, Slot, type SlotKind, Slots } from './slots.ts'

export interface HealthCheckOptions {
  /** A path that every database of this kind answers, such as that of a flavour probe. */
  readonly path: string
  readonly intervalMs: number
}

export interface UpstreamOptions extends TlsServer {
  readonly clock: Clock
  /** One URL, or those of several equal databases; the path goes before that of every request. */
  readonly url: URL | readonly URL[]
  /** Connections to each of them. */
  readonly connections: number
  /** A database that sends nothing for this long has failed. */
  readonly idleTimeoutMs: number
  readonly auth?: AuthOptions | undefined
  /** Finds out which URLs are down and which are back without risking a client's request. */
  readonly probe?: HealthCheckOptions | undefined
  /** The name of this proxy in Via. */
  readonly via: string
  /** Shared by all databases of a process. */
  readonly pace?: Pace | undefined
  /** Called when a slow reader loses its connection to others that wait for one. */
  readonly onHeldCut?: (() => void) | undefined
  /** Called for each query; unlimited by default. */
  readonly concurrency?: (() => Concurrency | undefined) | undefined
}

/** A query has been read whole, for planning; the body of anything else may still be arriving. */
export interface ForwardRequest extends Omit<WireRequest, 'body'> {
  readonly body: Uint8Array | Readable | null
  /** A read-only query: whatever its method, it may be sent twice. */
  readonly isQuery?: boolean
}

const replaced = new Set(['host', 'accept-encoding', 'content-length', 'expect', 'via'])

export class HttpUpstream implements Upstream {
  readonly preferredEncoding: Encoding
  /** Whether the path of a URL goes before that of every request. */
  readonly hasPrefix: boolean
  readonly #options: UpstreamOptions
  readonly #pace: Pace
  readonly #slots: Slots
  readonly #credentials: Credentials
  readonly #endpoints: Endpoints
  #probeTimer: Timer | undefined

  constructor(options: UpstreamOptions) {
    const { clock, connections, tls, socket, probe } = options
    const urls = [options.url].flat()
    const endpoints = urls.map((url) => new Endpoint({ url, clock, connections, tls, socket }))
    this.preferredEncoding = endpoints.every((each) => each.isLocal) ? 'identity' : 'gzip'
    this.hasPrefix = urls.some(({ pathname }) => pathname !== '/')
    this.#options = options
    this.#pace = options.pace ?? new Pace()
    const unlimited = { limit: Infinity, queue: Infinity, waitMs: options.idleTimeoutMs }
    this.#slots = new Slots(clock, connections, () => options.concurrency?.() ?? unlimited)
    this.#credentials = new Credentials(options.auth ?? {}, clock)
    this.#endpoints = new Endpoints(endpoints, probe !== undefined)
    if (probe !== undefined) this.#probeLater(probe)
  }

  /** Queries that wait in the queue for the database. */
  get queue(): QueueFigures {
    return this.#slots.queue
  }

  upstreams(): UpstreamState[] {
    return this.#endpoints.all.map((each) => each.state)
  }

  send(request: WireRequest, accept: Encoding, handler: ResponseHandler): UpstreamCall {
    const headers = this.#requestHeaders(endToEnd(request.headers, conditionalHeaders))
    headers.push('accept-encoding', accept)
    const body = request.body.length > 0 ? request.body : null
    return this.#begin(this.#endpoints, this.#toUpstream({ ...request, body }, headers), handler)
  }

  /** As `send`, with the client's own Accept-Encoding and a body that may be streamed. */
  forward(request: ForwardRequest, handler: ResponseHandler): UpstreamCall {
    const headers = this.#requestHeaders(request.headers)
    const accept = headerOf(request.headers, 'accept-encoding')
    const length = headerOf(request.headers, 'content-length')
    if (accept !== undefined) headers.push('accept-encoding', accept)
    if (length !== undefined && request.body !== null) headers.push('content-length', length)
    return this.#begin(
      this.#endpoints,
      { ...this.#toUpstream(request, headers), isSafe: isSafe(request), slot: slotOf(request) },
      handler,
    )
  }

  async close(): Promise<void> {
    this.#probeTimer?.cancel()
    await Promise.all(this.#endpoints.all.map((each) => each.close()))
  }

  #requestHeaders(headers: HeaderList): string[] {
    const list = endToEnd(headers, replaced)
    const before = headerOf(headers, 'via')
    const via = `1.1 ${this.#options.via}`
    list.push('via', before === undefined ? via : `${before}, ${via}`)
    return list
  }

  #toUpstream({ method, path, search, body }: ForwardRequest, headers: string[]): UpstreamRequest {
    return {
      method,
      path: search === '' ? path : `${path}?${search}`,
      body,
      isSafe: true,
      headersFor: (endpoint) => this.#withAuthorization(headers, endpoint),
    }
  }

  /**
   * A client's own credentials take precedence, unless they are to be replaced; then the configured ones; then the
   * URL's.
   */
  #withAuthorization(headers: string[], endpoint: Endpoint): string[] | { readonly error: string } {
    const hasOwn = headerOf(headers, 'authorization') !== undefined
    if (hasOwn && !this.#credentials.replaceClient) return headers
    const found = this.#credentials.authorization()
    if ('error' in found) return found
    const value = found.value ?? endpoint.authorization
    if (value === undefined) return headers
    const others = hasOwn ? endToEnd(headers, authorization) : headers
    return [...others, 'authorization', value]
  }

  #begin(endpoints: Endpoints, request: UpstreamRequest, handler: ResponseHandler): UpstreamCall {
    const attempts = new RequestAttempts(endpoints, request)
    const { clock, onHeldCut } = this.#options
    const idleTimeoutMs = request.patienceMs ?? this.#options.idleTimeoutMs
    const slot = new Slot(this.#slots, request.slot ?? 'fetch', {
      start: () => attempts.begin(reader),
      cut: () => {
        reader.cut()
        onHeldCut?.()
      },
      refuse: (detail) => reader.fail({ reason: 'queue_full', detail }),
    })
    const reader = new ResponseReader(handler, { clock, idleTimeoutMs, attempts, pace: this.#pace, slot })
    slot.enter()
    return reader
  }

  #probeLater(probe: HealthCheckOptions): void {
    this.#probeTimer = this.#options.clock.after(probe.intervalMs, () => {
      for (const endpoint of this.#endpoints.all) this.#probe(endpoint, probe)
      this.#probeLater(probe)
    })
  }

  #probe(endpoint: Endpoint, { path, intervalMs }: HealthCheckOptions): void {
    const get = { method: 'GET', path, search: '', headers: [], body: null }
    const request = this.#toUpstream(get, this.#requestHeaders([]))
    const patienceMs = Math.min(intervalMs, maxProbeMs)
    this.#begin(
      new Endpoints([endpoint], true),
      { ...request, patienceMs, isProbe: true, slot: 'probe' },
      ignored,
    )
  }
}

const maxProbeMs = 5_000
const authorization = new Set(['authorization'])
const ignored: ResponseHandler = { head() {}, data() {}, end() {}, failed() {} }

const slotOf = ({ body }: ForwardRequest): SlotKind => (body instanceof Readable ? 'upload' : 'forward')

/**
 * A streamed body is consumed once it was sent; and a request that is neither a query nor GET may have been carried out
 * already.
 */
const isSafe = ({ method, body, isQuery = false }: ForwardRequest): boolean =>
  body === null ? method === 'GET' || method === 'HEAD' : isQuery && body instanceof Uint8Array
