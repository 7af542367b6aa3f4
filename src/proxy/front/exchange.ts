/**
 * A request and its reply, as the handler sees them, whichever reader has parsed them from the socket: node:http, or a
 * shortcut (shortcut.ts).
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { HeaderList } from '../../backends/backend.ts'
import type { Body, BodyLimits } from './body.ts'
import type { ShortBody } from './send-buffer.ts'

export interface ClientRequest {
  readonly method?: string | undefined
  /** The target; the router removes the prefix of a route from it. */
  url?: string | undefined
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: HeaderList
  readonly headers: IncomingHttpHeaders
  /** The headers without the hop-by-hop ones, where they are known already. */
  readonly endToEnd?: HeaderList
  /** Whether all of it, body included, has arrived. */
  readonly complete: boolean
  /** Reports the body, or its failure, once. */
  gather(limits: BodyLimits, onBody: (body: Body) => void): void
  /** The body, for callers that forward it unread. */
  readonly unread: (Readable & Pick<ClientRequest, 'headers'>) | Uint8Array
}

/** The used part of node:http's own response, which is one. */
export interface Reply {
  statusCode: number
  shouldKeepAlive: boolean
  readonly headersSent: boolean
  readonly writableLength: number
  readonly writableFinished: boolean
  readonly destroyed: boolean
  readonly closed: boolean
  readonly socket: Socket | null
  writeHead(status: number, headers: string[]): unknown
  write(chunk: Uint8Array): boolean
  write(chunk: string, encoding: 'latin1'): boolean
  end(chunk?: Uint8Array): unknown
  destroy(): unknown
  once(event: 'close' | 'drain', listener: () => void): unknown
  /** Sends head and body in one go. Returns false where node:http has to send them. */
  sendWhole?(status: number, headers: SentHeaders, body: WholeBody): boolean
}

/** Pieces that are sent from where they lie; or something short that is written behind the head, to leave with it. */
export type WholeBody = readonly Uint8Array[] | ShortBody

export interface SentHeaders {
  /** As others gave them. */
  readonly given: HeaderList
  /** Generated here: their characters are known to be valid. */
  readonly own: HeaderList
}
