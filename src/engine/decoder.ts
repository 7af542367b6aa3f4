/** Undoing the content encoding of a response. */
import type { Transform } from 'node:stream'
import { createGunzip, createInflate } from 'node:zlib'
import type { HeaderList, WireRequest } from '../backends/backend.ts'
import { headerOf } from '../core/headers.ts'
import type { Encoding, ResponseHandler, Upstream, UpstreamCall } from './ports.ts'

interface BodyReceiver {
  data(chunk: Uint8Array): void
  end(): void
  /** The encoding is broken. */
  undecodable(detail: string): void
}

/** The encoding of a response; undefined where it is none that was accepted. */
export function encodingOf(headers: HeaderList): Encoding | undefined {
  const name = headerOf(headers, 'content-encoding')?.toLowerCase() ?? 'identity'
  return name === 'gzip' || name === 'deflate' || name === 'identity' ? name : undefined
}

/** A stream to write the body to as it came; undefined where it is not encoded, or in a way that is not known. */
export function decoderFor(headers: HeaderList, body: BodyReceiver): Transform | undefined {
  const encoding = encodingOf(headers)
  if (encoding === undefined || encoding === 'identity') return undefined
  const decoder = encoding === 'gzip' ? createGunzip() : createInflate()
  const broken = (why: string) => body.undecodable(`broken ${encoding} body: ${why}`)
  decoder.on('data', (chunk: Buffer) => body.data(chunk))
  // A decoder that stops by itself takes no more, and reports no drain.
  decoder.on('end', () => (decoder.writableEnded ? body.end() : broken('it goes on behind its end')))
  decoder.on('error', (error) => broken(error.message))
  return decoder
}

/** As `upstream.send`, for handlers that want the body free of its encoding and nothing else. */
export function sendDecoded(
  upstream: Upstream,
  { request, accept }: { readonly request: WireRequest; readonly accept: Encoding },
  handler: ResponseHandler,
): UpstreamCall {
  let decoder: Transform | undefined
  let trailers: HeaderList = []
  const cancel = () => {
    decoder?.destroy()
    call.cancel()
  }
  const body: BodyReceiver = {
    data: (chunk) => handler.data(chunk),
    end: () => handler.end(trailers),
    undecodable: (detail) => {
      cancel()
      handler.failed({ reason: 'database_unreachable', detail })
    },
  }
  const call: UpstreamCall = upstream.send(request, accept, {
    head: (status, headers) => {
      decoder = decoderFor(headers, body)
      handler.head(status, headers)
    },
    data: (chunk) => {
      if (decoder === undefined) handler.data(chunk)
      else if (!decoder.write(chunk)) {
        call.pause()
        decoder.once('drain', () => call.resume())
      }
    },
    end: (told) => {
      trailers = told
      if (decoder === undefined) handler.end(told)
      else decoder.end()
    },
    failed: (broken) => {
      decoder?.destroy()
      handler.failed(broken)
    },
  })
  return { cancel, pause: () => call.pause(), resume: () => call.resume() }
}
