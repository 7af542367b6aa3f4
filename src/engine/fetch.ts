/** The result of a query to the database: a value, also on failure. */
import type { Decomposed, HeaderList, ResponseEnds, Sink, Unusable } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import type { ServingReason } from '../core/decision.ts'
import { clockWith } from '../core/lifetime.ts'
import type { Pane } from '../core/pane.ts'
import type { AnswerTerms, Forbidden } from './http/answer-terms.ts'
import type { BrokenReason } from './ports.ts'

export type FetchResult = FetchedPanes | DatabaseRefusal | DatabaseFailure | UnusableAnswer | Abandoned

export interface FetchedPanes {
  readonly kind: 'panes'
  /** One for each requested interval, in time order. */
  readonly panes: readonly Pane[]
  readonly headers: HeaderList
  /** False where the database forbids it, or the answer is not complete. */
  readonly storable: boolean
  /** Why the database forbids storing it and giving it to another request. */
  readonly forbidden?: Forbidden | undefined
  /** Other requests may be given it before this instant. */
  readonly freshUntil: EpochMs
}

/** The database's own answer that the query is wrong. */
export interface DatabaseRefusal {
  readonly kind: 'refused'
  readonly response: WholeResponse
}

/** No answer, or a server error. */
export interface DatabaseFailure {
  readonly kind: 'broken'
  readonly reason: BrokenReason
  readonly detail: string
  readonly response?: WholeResponse
}

/** An answer that is true but cannot be cut or kept; the client must be given the database's own. */
export interface UnusableAnswer {
  readonly kind: 'unusable'
  readonly reason: ServingReason
  readonly detail: string
}

/** No client waited any longer; or another thread or node fetched it, which all members waited for. */
export interface Abandoned {
  readonly kind: 'abandoned'
  readonly look?: Look | undefined
}

export interface Look {
  /**
   * Buckets fetched at or after this are accepted even if their TTL expired on the way: the request waited for them.
   * Absent where it did not wait.
   */
  readonly acceptFrom?: EpochMs | undefined
  /** The flight that it waited for brought nothing that it can read: it is not to wait for another one. */
  readonly isInVain?: boolean
}

export interface WholeResponse {
  readonly status: number
  readonly headers: HeaderList
  readonly body: Uint8Array
}

/** The panes of a sink that has been given all of a response. */
export function fetchedBy(
  sink: Sink,
  ends: ResponseEnds,
  { fetchedAt, terms }: { readonly fetchedAt: EpochMs; readonly terms: AnswerTerms },
): FetchedPanes | UnusableAnswer {
  const { limits, forbidden } = terms
  const decomposed = endOf(sink, clockWith(fetchedAt, limits), ends)
  if ('unusable' in decomposed) {
    return { kind: 'unusable', reason: 'unusable_answer', detail: decomposed.unusable }
  }
  const { headers } = ends
  const storable = decomposed.storable && forbidden === undefined
  const freshUntil = fetchedAt + 1000 * limits.seconds
  return { kind: 'panes', panes: decomposed.panes, headers, storable, forbidden, freshUntil }
}

/** The meaning of a response that is not an answer. */
export function errorOf(response: WholeResponse): DatabaseRefusal | DatabaseFailure {
  const { status } = response
  if (status < 500) return { kind: 'refused', response }
  return { kind: 'broken', reason: 'database_error', detail: `status ${status}`, response }
}

/**
 * A response that the sink rejects is unusable, whatever the reason: an exception here would leave all clients waiting.
 */
function endOf(sink: Sink, fetchedAt: EpochMs, response: ResponseEnds): Decomposed | Unusable {
  try {
    return sink.end(fetchedAt, response)
  } catch (error) {
    return { unusable: String(error) }
  }
}

type AnyResult = DatabaseFailure | { readonly kind: Exclude<FetchResult['kind'], 'broken'> | 'answer' }

/**
 * Whether the database is taken to be down after a query. One that answers with an error is not: it may be the query's
 * own fault. A query that was not sent, or not waited for, shows nothing.
 */
export function isDownAfter(result: AnyResult, wasDown: boolean): boolean {
  if (result.kind === 'abandoned') return wasDown
  if (result.kind !== 'broken') return false
  const { reason } = result
  if (reason === 'queue_full') return wasDown
  return reason === 'database_unreachable' || reason === 'database_timeout'
}
