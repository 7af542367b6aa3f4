/** Ids of queries: by which clients cancel them, and which every answer names. */
import { bufferOf } from '../../core/bytes.ts'
import { percentDecoded } from '../../core/url.ts'
import type { Cancellation, HeaderList, Plan } from '../backend.ts'

const cancelPath = /^\/druid\/v2\/(?:sql\/)?([^/]+)$/

/** `DELETE /druid/v2/{id}` and `DELETE /druid/v2/sql/{id}`. */
export function cancels(method: string, path: string): string | undefined {
  const id = method === 'DELETE' ? cancelPath.exec(path)?.[1] : undefined
  return id && percentDecoded(id)
}

/** As Druid puts it; `host` is that of a server of its own. */
export const cancelledAnswer: Cancellation['cancelledAnswer'] = () => ({
  status: 500,
  contentType: 'application/json',
  body: JSON.stringify({
    error: 'Query cancelled',
    errorClass: 'java.util.concurrent.CancellationException',
    host: null,
    errorCode: 'legacyQueryException',
    persona: 'OPERATOR',
    category: 'CANCELED',
    errorMessage: 'Task was cancelled.',
  }),
})

/** In an error of any version; errors begin with their type. */
export function isCancellation(status: number, body: Uint8Array): boolean {
  if (status !== 500) return false
  const start = bufferOf(body).toString('utf8', 0, longestError)
  return /"error"\s*:\s*"Query cancelled"|"category"\s*:\s*"CANCELED"/.test(start)
}

const longestError = 4096

/** The id that the client gave its query, or one that Druid might have given it: to Druid an empty one is none. */
export function ownHeaders(
  { queryId, request }: Pick<Plan, 'queryId' | 'request'>,
  newId: () => string,
): HeaderList {
  const id = queryId || newId()
  const isSql = request.path.startsWith('/druid/v2/sql')
  return isSql ? ['X-Druid-Query-Id', id, 'X-Druid-SQL-Query-Id', id] : ['X-Druid-Query-Id', id]
}
