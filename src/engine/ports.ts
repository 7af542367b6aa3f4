/** The engine's interfaces to the outside: a database to query and a client to stream to. */
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
  /**
   * The response was truncated. Returns true where the query may be repeated: then another response comes, from its
   * head on.
   */
  restart?(): boolean
}

/** The database could not be reached, did not answer in time or broke off. */
export interface Broken {
  readonly reason: BrokenReason
  readonly detail: string
}

/** `queue_full`: the query was not sent, because the database has as many as it may have. */
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
  /** The encoding that the database itself would send to the client. */
  readonly encoding: Encoding
  head(status: number, headers: HeaderList): void
  /** Returns false when the client is slower than the database. */
  write(chunk: Uint8Array): boolean
  /** Bytes taken by `write` that the client has not. */
  readonly unsent: number
  /** Calls back once, when everything written so far is on its way. */
  onDrain(resume: () => void): void
  end(): void
  /** The answer cannot be completed: the connection is closed, so that the client does not take it for complete. */
  abort(): void
}
