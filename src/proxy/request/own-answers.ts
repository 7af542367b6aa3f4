/** Answers that Windowpane gives itself: refusals, errors, and the reply to a cancellation that the database need not see. */
import type { Backend } from '../../backends/backend.ts'
import { type RefusalReason, resetDecision } from '../../core/decision.ts'
import { errorAnswerOf, failureMessage } from '../../engine/http/plan-request.ts'
import type { Broken } from '../../engine/ports.ts'
import type { Refusal } from '../../limits/limit.ts'
import { exceededLimits, refusalAnswer } from '../quotas/refusal-answer.ts'
import type { Outgoing } from './outgoing.ts'

const statusOf: Record<RefusalReason, number> = {
  overloaded: 503,
  request_too_large: 413,
  loop: 508,
  only_if_cached: 504,
  bad_request: 400,
  over_quota: 429,
  quota_never: 429,
  quota_unavailable: 503,
  queue_full: 503,
}

export class OwnAnswers {
  readonly #backend: Backend

  constructor(backend: Backend) {
    this.#backend = backend
  }

  refuse(outgoing: Outgoing, reason: RefusalReason, message: string): void {
    resetDecision(outgoing.decision)
    outgoing.decision.outcome = 'refused'
    outgoing.decision.reason = reason
    this.#error(outgoing, statusOf[reason], `windowpane: ${message}`)
  }

  /** The quota of the client does not permit the request. The same answer for all kinds of databases. */
  overQuota(outgoing: Outgoing, refusal: Refusal, entity: string): void {
    const { status, reason, headers, body } = refusalAnswer(refusal)
    resetDecision(outgoing.decision)
    outgoing.decision.outcome = 'refused'
    outgoing.decision.reason = reason
    outgoing.decision.detail = `${exceededLimits(refusal).join(', ')} of ${entity}`
    // The answer has the fields of the refusal instead.
    outgoing.ticket = undefined
    if (outgoing.hasUnreadBody) outgoing.closeAfterResponse()
    outgoing.whole(status, headers, Buffer.from(body))
  }

  /** The database did not answer. */
  broken(outgoing: Outgoing, broken: Broken): void {
    if (broken.reason === 'queue_full') {
      const remedy = 'try again, or raise the concurrency of the backend or limits.upstreamConnections'
      this.refuse(outgoing, 'queue_full', `the database has as many queries as it may have; ${remedy}`)
      outgoing.decision.detail = broken.detail
      return
    }
    const { decision } = outgoing
    const { status, reason, message } = failureMessage(broken)
    resetDecision(decision)
    decision.reason = reason
    decision.detail = broken.detail
    this.#error(outgoing, status, message)
  }

  /** Our own code failed. */
  fault(outgoing: Outgoing, error: unknown): void {
    resetDecision(outgoing.decision)
    outgoing.decision.reason = 'internal'
    if (outgoing.hasBegun) outgoing.abort()
    else this.#error(outgoing, 500, `windowpane: internal error: ${String(error)}`)
  }

  /** The client has disconnected; the decision records it. */
  clientGone({ decision }: Outgoing): void {
    resetDecision(decision)
    decision.reason = 'client_gone'
  }

  /** A cancelled query that continues for others, or was never sent: the database gets no cancel request. */
  cancelled(outgoing: Outgoing): void {
    outgoing.decision.outcome = 'bypass'
    outgoing.decision.reason = 'not_a_range_query'
    outgoing.decision.detail = 'the database has no query of this client alone'
    outgoing.whole(202, [], new Uint8Array(0))
  }

  #error(outgoing: Outgoing, status: number, message: string): void {
    const { contentType, body } = errorAnswerOf(this.#backend, status, message)
    const headers = ['Content-Type', contentType]
    if (status === 503) headers.push('Retry-After', '1')
    if (status === 413 || status === 400) outgoing.closeAfterResponse()
    outgoing.whole(status, headers, Buffer.from(body))
  }
}
