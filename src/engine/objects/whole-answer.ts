/** The answer to a request for an answer that is cached as a whole, and the notes about it in the decision. */
import type { EpochMs } from '../../core/clock.ts'
import { type Decision, type MissReason, resetDecision, type StaleReason } from '../../core/decision.ts'
import type { DatabaseFailure, DatabaseRefusal, UnusableAnswer } from '../fetch.ts'
import type { Answer, Demands } from '../trip.ts'
import { ttlSeconds } from './http-status.ts'
import type { ObjectAnswer } from './objects.ts'
import type { WholeFetch } from './whole-fetch.ts'
import type { MarkedAt } from './whole-marks.ts'
import type { OwnFetch, WholeTrip } from './whole-request.ts'

/** Why a database had to be queried. `isKnown`: an older version is stored. */
export function missReason({ notBefore }: Demands, { changedAt }: MarkedAt, isKnown: boolean): MissReason {
  if (notBefore > Number.NEGATIVE_INFINITY) return 'revalidate'
  if (changedAt > Number.NEGATIVE_INFINITY && isKnown) return 'purged'
  return isKnown ? 'expired' : 'absent'
}

type Clocks = Pick<ObjectAnswer, 'generatedAt' | 'freshUntil'>

export function noteHit(decision: Decision, { generatedAt, freshUntil }: Clocks, now: EpochMs): void {
  delete decision.reason
  decision.outcome = 'hit'
  decision.ageSeconds = Math.max(0, Math.floor((now - generatedAt) / 1000))
  decision.ttlSeconds = ttlSeconds(freshUntil, now)
}

export interface WhyStale {
  readonly reason: StaleReason
  readonly detail: string
}

export const slow: WhyStale = { reason: 'database_slow', detail: 'still waiting' }

export function staleAnswer(
  decision: Decision,
  stored: Clocks & Pick<ObjectAnswer, 'headers' | 'body' | 'etag'>,
  { reason, detail, now }: WhyStale & { readonly now: EpochMs },
): Answer {
  resetDecision(decision)
  noteHit(decision, stored, now)
  decision.outcome = 'stale'
  decision.reason = reason
  decision.detail = detail
  return { kind: 'object', ...stored }
}

/** The database was queried: by this request, by another one, or by another node. */
export async function missAnswer(
  { request, marked, decision }: WholeTrip,
  answer: ObjectAnswer,
  { fetch, rendered }: OwnFetch,
): Promise<Answer> {
  if (answer.status !== 200) return refusedAnswer(decision, answer)
  decision.outcome = 'miss'
  decision.reason = missReason(request.demands, marked, answer.replaced !== undefined)
  if (answer.state === 'wait-hit') {
    decision.collapsed = true
    return { kind: 'object', ...answer }
  }
  const forbidden = rendered?.result.forbidden
  decision.upstreamStatus = answer.status
  decision.stored = forbidden === undefined && rendered?.result.isComplete === true
  if (forbidden !== undefined) decision.unstored = forbidden.reason
  if (fetch?.isStreaming === true) return streamedAnswer(fetch)
  return forbidden === undefined ? { kind: 'object', ...answer } : { kind: 'response', response: answer }
}

/** The client is given the response while it arrives. */
export async function streamedAnswer(fetch: WholeFetch): Promise<Answer> {
  await fetch.delivered
  return { kind: 'streamed' }
}

/** The answer where the fetch brought none that can be stored, and nothing stored may be served instead. */
export function failedAnswer(
  decision: Decision,
  result: DatabaseFailure | DatabaseRefusal | UnusableAnswer,
): Answer {
  if (result.kind === 'refused') return refusedAnswer(decision, result.response)
  if (result.kind === 'unusable') return { kind: 'forward', reason: result.reason, detail: result.detail }
  const { reason, detail, response } = result
  // An error that was too long to keep: the client gets it from the database itself.
  if (reason === 'database_error' && response === undefined)
    return { kind: 'forward', reason: 'unusable_answer', detail }
  resetDecision(decision)
  decision.reason = reason
  decision.detail = detail
  if (response !== undefined) decision.upstreamStatus = response.status
  return { kind: 'failure', failure: result }
}

/** The database's own answer that the request is wrong. */
function refusedAnswer(decision: Decision, response: DatabaseRefusal['response']): Answer {
  resetDecision(decision)
  decision.reason = 'database_refused'
  decision.upstreamStatus = response.status
  return { kind: 'response', response }
}
