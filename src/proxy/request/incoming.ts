/** The request of a client, as the backend reads it. */
import type { WireRequest } from '../../backends/backend.ts'
import { requestHeaders } from '../../engine/http/headers.ts'
import type { SpanIds } from '../../telemetry/channels.ts'
import { tracedHeaders } from '../../telemetry/tracing.ts'
import type { ClientRequest } from '../front/exchange.ts'
import { wholeUrl } from './routes.ts'

/**
 * Without the hop-by-hop headers: headers that are not sent to the database decide nothing. Only Proxy-Authorization
 * does.
 */
export interface Incoming extends Omit<WireRequest, 'body'> {}

/** Undefined where the request target cannot be forwarded. Queries on its behalf are part of its own span. */
export function readTarget(
  message: Pick<ClientRequest, 'method' | 'url' | 'rawHeaders' | 'endToEnd'>,
  trace?: SpanIds,
): Incoming | undefined {
  const target = originForm(message.url ?? '')
  if (target === undefined) return undefined
  const headers = message.endToEnd ?? requestHeaders(message.rawHeaders)
  const mark = target.indexOf('?')
  return {
    method: message.method ?? 'GET',
    path: mark < 0 ? target : target.slice(0, mark),
    search: mark < 0 ? '' : target.slice(mark + 1),
    headers: trace === undefined ? headers : tracedHeaders(headers, trace),
  }
}

/** Of a whole URL only the path counts. */
const originForm = (target: string): string | undefined =>
  target.startsWith('/') ? target : wholeUrl(target)?.target
