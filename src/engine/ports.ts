/** What the engine needs from the outside world: a database to ask and a client to stream to. */
import type { HeaderList, WireRequest } from '../backends/backend.ts'
import type { StaleReason } from '../core/decision.ts'

export type Encoding = 'gzip' | 'deflate' | 'identity'

export interface ResponseHandler {
  head(status: number, headers: HeaderList): void
  /** A piece of the body as it came over the wire, content encoding included. The handler may keep it. */
  data(chunk: Uint8Array): void
  /** After the last byte. Nothing is called after `end` or `failed`. */
  end(trailers: HeaderList): void
  failed(failure: Broken): void
  /** The response broke off. Returns true where it may be asked for again: then another one comes, from its head on. */
  restart?(): boolean
}

/** The database could not be reached, did not answer in time or broke off. */
export interface Broken {
  readonly reason: BrokenReason
  readonly detail: string
}

/** `queue_full`: the database was not asked, because it has as many queries as it may have. */
export type BrokenReason = Exclude<StaleReason, 'database_slow' | 'over_quota'>

export interface UpstreamCall {
  /** Gives the request up; the handler is not called again. */
  cancel(): void
  /** `isForClient`: a client is slower than the database. It may lose its connection when others wait for one. */
  pause(isForClient?: boolean): void
  resume(): void
}

export interface Upstream {
  /** The encoding that is worth its cost on the way from this database. */
  readonly preferredEncoding: Encoding
  send(request: WireRequest, accept: Encoding, handler: ResponseHandler): UpstreamCall
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
