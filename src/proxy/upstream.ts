/** The database over HTTP: one connection pool, deadlines on the clock, content encodings undone. */
import type { Readable, Transform } from 'node:stream'
import { createGunzip, createInflate } from 'node:zlib'
import { type Dispatcher, Pool } from 'undici'
import type { HeaderList, WireRequest } from '../backends/backend.ts'
import type { Clock } from '../core/clock.ts'
import { headerOf } from '../core/headers.ts'
import type { Broken, Encoding, Exchange, ResponseHandler, Upstream } from '../engine/ports.ts'
import { endToEnd } from './headers.ts'

export interface UpstreamOptions {
  readonly url: URL
  readonly clock: Clock
  readonly connections: number
  /** A database that sends nothing for this long has failed. */
  readonly idleTimeoutMs: number
  /** What this proxy calls itself in Via. */
  readonly via: string
}

/** A request whose body may still be arriving. */
export interface ForwardRequest extends Omit<WireRequest, 'body'> {
  readonly body: Uint8Array | Readable | null
}

const replaced = new Set(['host', 'accept-encoding', 'content-length', 'expect', 'via'])
/** About the client's own copy of its own request: a narrowed one has other bytes. */
const conditional = new Set([
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  'range',
])

export class HttpUpstream implements Upstream {
  readonly preferredEncoding: Encoding
  readonly #options: UpstreamOptions
  readonly #pool: Pool
  readonly #prefix: string
  /** From the user and password of the URL; a client's own go before it. */
  readonly #authorization: string | undefined

  constructor(options: UpstreamOptions) {
    this.#options = options
    // Compressing costs the database more than loopback saves.
    const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(options.url.hostname)
    this.preferredEncoding = isLocal ? 'identity' : 'gzip'
    this.#prefix = options.url.pathname.replace(/\/+$/, '')
    this.#authorization = basicAuthorization(options.url)
    this.#pool = new Pool(options.url.origin, {
      connections: options.connections,
      // Deadlines are ours, on the clock.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: 5_000 },
    })
  }

  send(request: WireRequest, accept: Encoding, handler: ResponseHandler): Exchange {
    const headers = this.#requestHeaders(endToEnd(request.headers, conditional))
    headers.push('accept-encoding', accept)
    const body = request.body.length > 0 ? request.body : null
    return this.#dispatch({ ...request, body }, headers, this.#reader(handler, true))
  }

  /** As `send`, with the client's own Accept-Encoding, a body that may be streamed, and only raw bytes back. */
  forward(request: ForwardRequest, handler: ResponseHandler): Exchange {
    const headers = this.#requestHeaders(request.headers)
    const accept = headerOf(request.headers, 'accept-encoding')
    const length = headerOf(request.headers, 'content-length')
    if (accept !== undefined) headers.push('accept-encoding', accept)
    if (length !== undefined && request.body !== null) headers.push('content-length', length)
    return this.#dispatch(request, headers, this.#reader(handler, false))
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }

  #requestHeaders(headers: HeaderList): string[] {
    const list = endToEnd(headers, replaced)
    const via = headerOf(headers, 'via')
    list.push('via', via === undefined ? `1.1 ${this.#options.via}` : `${via}, 1.1 ${this.#options.via}`)
    if (this.#authorization !== undefined && headerOf(headers, 'authorization') === undefined) {
      list.push('authorization', this.#authorization)
    }
    return list
  }

  #reader(handler: ResponseHandler, isDecoding: boolean): ResponseReader {
    return new ResponseReader(handler, { ...this.#options, isDecoding })
  }

  #dispatch(request: ForwardRequest, headers: string[], response: ResponseReader): Exchange {
    const search = request.search === '' ? '' : `?${request.search}`
    try {
      this.#pool.dispatch(
        {
          path: `${this.#prefix}${request.path}${search}`,
          method: request.method as Dispatcher.HttpMethod,
          headers,
          body: request.body as Uint8Array | Readable | null,
        },
        response,
      )
    } catch (error) {
      response.fail({ reason: 'database_unreachable', detail: messageOf(error) })
    }
    return response
  }
}

interface ReaderOptions extends UpstreamOptions {
  /** Whether the handler wants `data`; where it passes on `raw`, a broken encoding is none of our business. */
  readonly isDecoding: boolean
}

/** Turns the pool's callbacks into the handler's, once, in order, with the content encoding undone. */
class ResponseReader implements Dispatcher.DispatchHandler, Exchange {
  readonly #handler: ResponseHandler
  readonly #options: ReaderOptions
  #controller: Dispatcher.DispatchController | undefined
  #decoder: Transform | undefined
  #isDecoding: boolean
  #isOver = false
  #hasEnded = false
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
    // All raw bytes may be in already: the decoder was to tell of the end, and no longer can.
    if (this.#hasEnded && this.#finish()) this.#handler.end()
    else this.resume()
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    if (this.#controller?.paused) this.#controller.resume()
    this.#lastActivity = this.#options.clock.elapsed()
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
    const headers = headerList(controller.rawHeaders)
    if (this.#isDecoding) this.#decoder = this.#decoderFor(headerOf(headers, 'content-encoding'))
    this.#handler.head(status, headers)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return
    this.#lastActivity = this.#options.clock.elapsed()
    this.#handler.raw?.(chunk)
    if (this.#decoder !== undefined) this.#decode(this.#decoder, chunk)
    else if (this.#isDecoding) this.#handler.data(chunk)
  }

  onResponseEnd(): void {
    if (this.#isOver) return
    this.#hasEnded = true
    if (this.#decoder !== undefined) this.#decoder.end()
    else if (this.#finish()) this.#handler.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail({ reason: 'database_unreachable', detail: messageOf(error) })
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
      if (!this.#isOver) this.#handler.data(chunk)
    })
    decoder.on('end', () => {
      if (this.#finish()) this.#handler.end()
    })
    decoder.on('error', (error) => {
      this.fail({ reason: 'database_unreachable', detail: `broken ${encoding} body: ${error.message}` })
      this.#controller?.abort(error)
    })
    return decoder
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
      // In this order: aborting reports an error of its own at once.
      this.fail({ reason: 'database_timeout', detail: `no byte for ${this.#options.idleTimeoutMs} ms` })
      this.#controller?.abort(new Error('timed out'))
    })
  }

  #finish(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#timer.cancel()
    return true
  }
}

function basicAuthorization({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}

function headerList(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  return Array.isArray(raw)
    ? raw.map((item) => (typeof item === 'string' ? item : item.toString('latin1')))
    : []
}

const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const code = (error as NodeJS.ErrnoException).code
  return code === undefined || error.message.includes(code) ? error.message : `${code} ${error.message}`
}
