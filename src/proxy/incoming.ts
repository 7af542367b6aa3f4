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

export async function readBody(
  message: IncomingMessage,
  limits: BodyLimits,
): Promise<Buffer | 'too long' | 'no room'> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of message as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > limits.maxBytes) return 'too long'
    if (!limits.hold(chunk.length)) return 'no room'
    chunks.push(chunk)
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}
