/** The database over HTTP, with a span for every query on behalf of a traced request. */
import type { WireRequest } from '../../backends/backend.ts'
import type { Encoding, ResponseHandler, UpstreamCall } from '../../engine/ports.ts'
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
    const traced = { ...request, headers: span.headers }
    return watched(handler, span, (watching) => super.send(traced, accept, watching))
  }

  override forward(request: ForwardRequest, handler: ResponseHandler): UpstreamCall {
    const span = this.#tracing.beginFetch(request)
    if (span === undefined) return super.forward(request, handler)
    const traced = { ...request, headers: span.headers }
    return watched(handler, span, (watching) => super.forward(traced, watching))
  }
}

/** Passes everything on, both ways, and notes when it is over. */
function watched(
  handler: ResponseHandler,
  span: FetchSpan,
  send: (handler: ResponseHandler) => UpstreamCall,
): UpstreamCall {
  const call = send({
    head(status, headers) {
      span.status = status
      handler.head(status, headers)
    },
    data(chunk) {
      span.bytes += chunk.length
      handler.data(chunk)
    },
    end(trailers) {
      span.end()
      handler.end(trailers)
    },
    failed(failure) {
      span.end(failure.reason)
      handler.failed(failure)
    },
    restart: () => handler.restart?.() === true,
  })
  return {
    cancel() {
      span.end('given_up')
      call.cancel()
    },
    pause: (isForClient) => call.pause(isForClient),
    resume: () => call.resume(),
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
