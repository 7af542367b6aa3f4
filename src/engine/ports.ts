/** What the engine needs from the outside world: a database to ask and a client to stream to. */
import type { HeaderList, WireRequest } from '../backends/backend.ts'
import type { StaleReason } from '../core/decision.ts'

export type Encoding = 'gzip' | 'deflate' | 'identity'

export interface ResponseHandler {
  /** Whether somebody is given `raw` as it comes, and waits for it. */
  readonly isStreaming?: boolean
  head(status: number, headers: HeaderList): void
  /** The body as it came over the wire. */
  raw?(chunk: Uint8Array): void
  /** The body free of content encoding; the chunk is valid only during the call. */
  data(chunk: Uint8Array): void
  /** `raw` has told all there is; `data` lags behind. Only for answers that are not encoded. */
  passed?(): void
  /** The content encoding is broken: without this it is a failure, with it only `raw` follows. */
  undecodable?: ((detail: string) => void) | undefined
  /** After the last byte. Nothing is called after `end` or `failed`. */
  end(trailers: HeaderList): void
  failed(failure: Broken): void
}

/** The database could not be reached, did not answer in time or broke off. */
export interface Broken {
  readonly reason: Exclude<StaleReason, 'database_slow'>
  readonly detail: string
}

export interface Exchange {
  /** Gives the request up; the handler is not called again. */
  cancel(): void
  pause(): void
  resume(): void
  /** From now on only `raw` is wanted; `data` is not called again. */
  stopDecoding(): void
  /** What has arrived is told now, and not when there is time. */
  hurry?(): void
}

export interface Upstream {
  /** The encoding that is worth its cost on the way from this database. */
  readonly preferredEncoding: Encoding
  send(request: WireRequest, accept: Encoding, handler: ResponseHandler): Exchange
}

/** A client that takes an answer while it arrives. */
export interface StreamTarget {
  /** What the client would be sent by the database itself. */
  readonly encoding: Encoding
  head(status: number, headers: HeaderList): void
  /** Returns false when the client is slower than the database. */
  write(chunk: Uint8Array): boolean
  /** Bytes taken by `write` that the client has not. */
  readonly unsent: number
  /** Calls back once, when everything written so far is on its way. */
  onDrain(resume: () => void): void
  end(): void
  /** The answer cannot be completed: the connection is broken off, so that nobody takes it for whole. */
  abort(): void
}
