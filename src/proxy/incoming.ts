/** What a client sent, as the backend reads it. */
import type { IncomingMessage } from 'node:http'
import type { WireRequest } from '../backends/backend.ts'
import type { SpanIds } from '../telemetry/channels.ts'
import { tracedHeaders } from '../telemetry/tracing.ts'
import { requestHeaders } from './headers.ts'
import { wholeUrl } from './routes.ts'

/** Headers of the connection end here: what is not passed on decides nothing, least of all who is asking. */
export interface Incoming extends Omit<WireRequest, 'body'> {}

/** Undefined where the request target cannot be forwarded. What is asked for it is part of its own span. */
export function readTarget(message: IncomingMessage, trace?: SpanIds): Incoming | undefined {
  const target = originForm(message.url ?? '')
  if (target === undefined) return undefined
  const headers = requestHeaders(message.rawHeaders)
  const mark = target.indexOf('?')
  return {
    method: message.method ?? 'GET',
    path: mark < 0 ? target : target.slice(0, mark),
    search: mark < 0 ? '' : target.slice(mark + 1),
    headers: trace === undefined ? headers : tracedHeaders(headers, trace),
  }
}

/** Of a whole URL the path is what counts. */
const originForm = (target: string): string | undefined =>
  target.startsWith('/') ? target : wholeUrl(target)?.target

export interface BodyLimits {
  readonly maxBytes: number
  /** Takes room in memory; false where there is none. */
  hold(bytes: number): boolean
}

/** A body, or why there is none: the client may have gone before its end. */
export type Body = Buffer | 'too long' | 'no room' | 'gone'

/**
 * Gathers a body and tells it once, without a promise: most bodies are there before anybody could wait for them. What comes
 * after the limit is not read.
 */
export function readBody(message: IncomingMessage, limits: BodyLimits, told: (body: Body) => void): void {
  const chunks: Buffer[] = []
  let length = 0
  let isTold = false
  const tell = (body: Body) => {
    if (isTold) return
    isTold = true
    told(body)
  }
  const stop = (why: 'too long' | 'no room') => {
    message.off('data', gather).pause()
    tell(why)
  }
  const gather = (chunk: Buffer) => {
    length += chunk.length
    if (length > limits.maxBytes) stop('too long')
    else if (!limits.hold(chunk.length)) stop('no room')
    else chunks.push(chunk)
  }
  message.on('data', gather)
  message.on('end', () => tell(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
  // Nobody listens to errors: node:http has none then, and the close follows.
  message.on('close', () => tell('gone'))
}

/** The same for those who can wait. */
export const bodyOf = (message: IncomingMessage, maxBytes: number): Promise<Body> =>
  new Promise((resolve) => readBody(message, { maxBytes, hold: () => true }, resolve))

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}
