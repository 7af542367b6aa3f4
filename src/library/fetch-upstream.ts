/**
 * The database, queried with `fetch`, which undoes content encodings: bodies arrive decoded, and without the headers
 * about that.
 */
import type { HeaderList, WireRequest } from '../backends/backend.ts'
import type { Clock, Timer } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import { isLoopback } from '../core/socket-address.ts'
import { failureText } from '../core/text.ts'
import { bodyHeaders, conditionalHeaders, endToEnd } from '../engine/http/headers.ts'
import type { Broken, Encoding, ResponseHandler, Upstream, UpstreamCall } from '../engine/ports.ts'

export interface FetchUpstreamOptions {
  readonly url: string
  readonly fetch: typeof fetch
  readonly clock: Clock
  /** A database that sends nothing for this long has failed. */
  readonly idleTimeoutMs: number
}

/** `fetch` sets these itself. */
const setByFetch = new Set(['host', 'accept-encoding', 'content-length', 'expect'])

export class FetchUpstream implements Upstream {
  readonly preferredEncoding: Encoding
  /** Whether the path of its URL goes before that of every request. */
  readonly hasPrefix: boolean
  readonly #options: FetchUpstreamOptions
  readonly #base: string

  constructor(options: FetchUpstreamOptions) {
    const url = urlOf(options.url)
    this.#options = options
    this.#base = url.origin + url.pathname.replace(/\/+$/, '')
    this.hasPrefix = url.pathname !== '/'
    // Compressing costs the database more than loopback saves.
    this.preferredEncoding = isLoopback(url.hostname) ? 'identity' : 'gzip'
  }

  send(request: WireRequest, accept: Encoding, handler: ResponseHandler): UpstreamCall {
    const unconditional = { ...request, headers: endToEnd(request.headers, conditionalHeaders) }
    const query = (signal: AbortSignal) => this.forward(unconditional, signal, accept)
    const call = new FetchCall(query, handler, this.#options)
    void call.run()
    return call
  }

  /** Passes a request on as it came, apart from the encoding that it accepts, where given. Rejects where the database cannot be reached, or the signal is aborted. */
  forward(request: ForwardedRequest, signal: AbortSignal, accept?: Encoding): Promise<Response> {
    const { method, path, search, body } = request
    const headers = headersOf(endToEnd(request.headers, setByFetch))
    if (accept !== undefined) headers.set('accept-encoding', accept)
    const hasBody = body !== null && !(body instanceof Uint8Array && body.length === 0)
    const init: RequestInit & { duplex?: 'half' } = { method, headers, signal, redirect: 'manual' }
    if (hasBody) Object.assign(init, { body, duplex: 'half' })
    return this.#options.fetch(`${this.#base}${path}${search === '' ? '' : `?${search}`}`, init)
  }
}

/** A body that was not needed for planning may still be arriving. */
export interface ForwardedRequest extends Omit<WireRequest, 'body'> {
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null
}

/** One query: read at the pace of the handler, given up when the database goes silent. */
class FetchCall implements UpstreamCall {
  readonly #fetch: (signal: AbortSignal) => Promise<Response>
  readonly #handler: ResponseHandler
  readonly #options: FetchUpstreamOptions
  readonly #abort = new AbortController()
  #timer: Timer
  #lastActivity: number
  /** Present while the handler takes no more. */
  #gate: PromiseWithResolvers<void> | undefined
  #hasBegun = false
  #isOver = false

  constructor(
    fetch: (signal: AbortSignal) => Promise<Response>,
    handler: ResponseHandler,
    options: FetchUpstreamOptions,
  ) {
    this.#fetch = fetch
    this.#handler = handler
    this.#options = options
    this.#lastActivity = options.clock.elapsed()
    this.#timer = this.#watch(options.idleTimeoutMs)
  }

  cancel(): void {
    if (this.#finish()) this.#abort.abort()
  }

  pause(): void {
    this.#gate ??= Promise.withResolvers()
  }

  resume(): void {
    this.#lastActivity = this.#options.clock.elapsed()
    this.#gate?.resolve()
    this.#gate = undefined
  }

  async run(): Promise<void> {
    let broken = await this.#attempt()
    // A truncated response is requested once more, where the handler has not forwarded any of it.
    const isRepeatable = broken !== undefined && this.#hasBegun && !this.#isOver
    if (isRepeatable && this.#handler.restart?.() === true) broken = await this.#attempt()
    if (broken !== undefined && this.#finish()) this.#handler.failed(broken)
  }

  async #attempt(): Promise<Broken | undefined> {
    try {
      // The handler is not called before `send` has returned, not even where `fetch` throws.
      await undefined
      const response = await this.#fetch(this.#abort.signal)
      if (this.#isOver) return undefined
      this.#hasBegun = true
      this.#handler.head(response.status, responseHeaders(response))
      for await (const chunk of response.body ?? []) {
        if (this.#isOver) return undefined
        this.#lastActivity = this.#options.clock.elapsed()
        this.#handler.data(chunk)
        await this.#gate?.promise
      }
    } catch (error) {
      return { reason: 'database_unreachable', detail: failureText(error) }
    }
    if (this.#finish()) this.#handler.end([])
    return undefined
  }

  #watch(delayMs: number): Timer {
    const { clock, idleTimeoutMs } = this.#options
    return clock.after(delayMs, () => {
      const idle = this.#gate === undefined ? clock.elapsed() - this.#lastActivity : 0
      if (idle < idleTimeoutMs) {
        this.#timer = this.#watch(idleTimeoutMs - idle)
        return
      }
      const detail = `no byte for ${idleTimeoutMs} ms`
      if (this.#finish()) this.#handler.failed({ reason: 'database_timeout', detail })
      this.#abort.abort()
    })
  }

  #finish(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#timer.cancel()
    this.resume()
    return true
  }
}

export function headersOf(list: HeaderList): Headers {
  const headers = new Headers()
  for (let i = 0; i < list.length; i += 2) headers.append(list[i]!, list[i + 1]!)
  return headers
}

/** The headers of the database, without the headers that described the encoded bytes. */
export function responseHeaders({ headers }: Response): string[] {
  return endToEnd([...headers].flat(), headers.has('content-encoding') ? bodyHeaders : undefined)
}

function urlOf(text: string): URL {
  const url = URL.parse(text)
  const isUsable = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === ''
  if (isUsable) return url
  throw new WindowpaneError('WINDOWPANE_BAD_OPTION', 'upstream is not a URL that fetch can request', {
    remedy: 'Give one such as http://prometheus:9090, and add credentials in a fetch of your own.',
  })
}
