/** The database over HTTP, with a span for every query on behalf of a traced request. */
import type { HeaderList, WireRequest } from '../../backends/backend.ts'
import type { Broken, Encoding, ResponseHandler, UpstreamCall } from '../../engine/ports.ts'
import type { ServerAddress } from '../../telemetry/channels.ts'
import type { FetchSpan, Tracing } from '../../telemetry/tracing.ts'
import { type ForwardRequest, HttpUpstream, type UpstreamOptions } from './upstream.ts'

export class TracedUpstream extends HttpUpstream {
  readonly #tracing: Tracing

  constructor(options: UpstreamOptions, tracing: Tracing) {
    super(options)
    this.#tracing = tracing
  }

  override send(request: WireRequest, accept: Encoding, handler: ResponseHandler): UpstreamCall {
    const span = this.#tracing.beginFetch(request)
    if (span === undefined) return super.send(request, accept, handler)
    const watched = new Watched(handler, span)
    return watched.sent(super.send({ ...request, headers: span.headers }, accept, watched))
  }

  override forward(request: ForwardRequest, handler: ResponseHandler): UpstreamCall {
    const span = this.#tracing.beginFetch(request)
    if (span === undefined) return super.forward(request, handler)
    const watched = new Watched(handler, span)
    return watched.sent(super.forward({ ...request, headers: span.headers }, watched))
  }
}

/** Passes everything on, both ways, and notes when it is over. */
class Watched implements ResponseHandler, UpstreamCall {
  readonly #handler: ResponseHandler
  readonly #span: FetchSpan
  #call!: UpstreamCall

  constructor(handler: ResponseHandler, span: FetchSpan) {
    this.#handler = handler
    this.#span = span
  }

  sent(call: UpstreamCall): UpstreamCall {
    this.#call = call
    return this
  }

  head(status: number, headers: HeaderList): void {
    this.#span.status = status
    this.#handler.head(status, headers)
  }

  data(chunk: Uint8Array): void {
    this.#span.bytes += chunk.length
    this.#handler.data(chunk)
  }

  end(trailers: HeaderList): void {
    this.#span.end()
    this.#handler.end(trailers)
  }

  failed(failure: Broken): void {
    this.#span.end(failure.reason)
    this.#handler.failed(failure)
  }

  restart(): boolean {
    return this.#handler.restart?.() === true
  }

  cancel(): void {
    this.#span.end('given_up')
    this.#call.cancel()
  }

  pause(isForClient?: boolean): void {
    this.#call.pause(isForClient)
  }

  resume(): void {
    this.#call.resume()
  }
}

/** The address of the database, if there is only one: with several, the choice is made later. */
export function onlyServer([first, ...others]: readonly URL[]): ServerAddress | undefined {
  if (first === undefined || others.length > 0) return undefined
  const usual = first.protocol === 'https:' ? 443 : 80
  return {
    address: first.hostname.replace(/^\[|\]$/g, ''),
    port: first.port === '' ? usual : Number(first.port),
  }
}
