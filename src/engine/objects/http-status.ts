/** How an answer of the object cache is shown to clients: `Cache-Status` (RFC 9211), `Age`, `ETag`, and 304. */
import type { HeaderList } from '../../backends/backend.ts'
import type { EpochMs } from '../../core/clock.ts'
import { isNotModified, notModifiedHeaders } from './http-conditional.ts'
import { ageSeconds } from './http-freshness.ts'
import type { ObjectAnswer } from './objects.ts'

/** Whole seconds, toward zero; negative where it is stale. */
export const ttlSeconds = (freshUntil: EpochMs, now: EpochMs): number =>
  Math.trunc((freshUntil - now) / 1000) + 0

/** A stale answer is a hit with a negative TTL: nothing was forwarded for it that succeeded. */
export function objectStatus(
  answer: Pick<ObjectAnswer, 'state' | 'freshUntil' | 'status'>,
  now: EpochMs,
): string {
  const { state, freshUntil, status } = answer
  if (state === 'hit' || state === 'stale') return `windowpane; hit; ttl=${ttlSeconds(freshUntil, now)}`
  const isStored = now < freshUntil
  const forwarded = `windowpane; fwd=miss; fwd-status=${status}${isStored ? '; stored' : ''}`
  return state === 'wait-hit' ? `${forwarded}; collapsed` : forwarded
}

export interface ObjectResponse {
  readonly status: number
  readonly headers: HeaderList
  /** Absent where the client has it already. */
  readonly body?: Uint8Array
}

const own: ReadonlySet<string> = new Set(['etag', 'age', 'cache-status'])

/** The response to a GET or HEAD with these headers. */
export function objectResponse(answer: ObjectAnswer, request: HeaderList, now: EpochMs): ObjectResponse {
  const { headers: given, etag, status, generatedAt, body } = answer
  const headers = given.filter((_, i) => !own.has(given[i - (i % 2)]!.toLowerCase()))
  const isSuccess = status >= 200 && status < 300
  const tagged = isSuccess ? [...headers, 'ETag', etag] : headers
  const added = [
    'Age',
    String(ageSeconds(generatedAt, given, now)),
    'Cache-Status',
    objectStatus(answer, now),
  ]
  if (isSuccess && isNotModified(request, etag))
    return { status: 304, headers: [...notModifiedHeaders(tagged), ...added] }
  return { status, headers: [...tagged, ...added], body }
}
