/** Sends the answer of the cache to the client, or forwards the request to the database where the cache has none. */
import type { Backend, Bypass, WireRequest } from '../../backends/backend.ts'
import type { Clock } from '../../core/clock.ts'
import { resetDecision } from '../../core/decision.ts'
import { newUuid } from '../../core/uuid.ts'
import { isNotModified } from '../../engine/objects/http-conditional.ts'
import type { Answer } from '../../engine/trip.ts'
import type { MaybePromise } from '../../stores/store.ts'
import type { ForwardRequest, HttpUpstream } from '../upstream/upstream.ts'
import { forward } from './forward.ts'
import { bodyOf, type ObjectReply, objectHeaders } from './object-reply.ts'
import type { Outgoing } from './outgoing.ts'
import type { OwnAnswers } from './own-answers.ts'

export interface RendererOptions {
  readonly clock: Clock
  readonly backend: Backend
  readonly upstream: HttpUpstream
}

export class Renderer {
  readonly #backend: Backend
  readonly #upstream: HttpUpstream
  readonly #own: OwnAnswers
  readonly #newId: () => string

  constructor({ clock, backend, upstream }: RendererOptions, own: OwnAnswers) {
    this.#backend = backend
    this.#upstream = upstream
    this.#own = own
    this.#newId = () => newUuid(() => clock.random())
  }

  render(outgoing: Outgoing, wire: WireRequest, answer: Answer): MaybePromise<void> {
    switch (answer.kind) {
      case 'panes': {
        const orForward = (isSent: boolean) =>
          isSent ? undefined : this.forwardQuery(outgoing, wire, { bypass: 'memory_exhausted' })
        const own = this.#backend.presentation?.ownHeaders?.(outgoing.plan!, this.#newId)
        const { body, panes } = answer
        const headers = own === undefined ? answer.headers : answer.headers.concat(own)
        const sending = outgoing.panes({ headers, body, panes })
        return sending instanceof Promise ? sending.then(orForward) : orForward(sending)
      }
      case 'object':
        return this.#object(outgoing, wire, answer)
      case 'response':
        return outgoing.whole(answer.response.status, answer.response.headers, answer.response.body)
      case 'failure': {
        const { response } = answer.failure
        if (response === undefined) return this.#own.broken(outgoing, answer.failure)
        return outgoing.whole(response.status, response.headers, response.body)
      }
      case 'forward':
        return this.forwardQuery(outgoing, wire, {
          bypass: answer.reason,
          ...(answer.detail !== undefined && { detail: answer.detail }),
        })
      case 'not-cached':
        return this.#own.refuse(outgoing, 'only_if_cached', 'the answer is not stored as a whole')
      case 'over-quota':
        return this.#own.overQuota(outgoing, answer.refusal, outgoing.ticket!.entity)
      case 'client-gone':
        return outgoing.isCancelled ? undefined : this.#own.clientGone(outgoing)
      default:
        return undefined
    }
  }

  #object(outgoing: Outgoing, wire: WireRequest, answer: ObjectReply): MaybePromise<void> {
    const own = this.#backend.presentation?.ownHeaders?.(outgoing.kept!, this.#newId)
    const headers = objectHeaders(answer).concat(own ?? [])
    if (isNotModified(wire.headers, answer.etag)) return outgoing.notModified(headers)
    const orForward = (isSent: boolean) =>
      isSent ? undefined : this.forwardQuery(outgoing, wire, { bypass: 'memory_exhausted' })
    const sending = outgoing.panes({ headers, body: bodyOf(answer.body), name: answer.etag })
    return sending instanceof Promise ? sending.then(orForward) : orForward(sending)
  }

  forwardQuery(outgoing: Outgoing, wire: WireRequest, why: Bypass<string>): Promise<void> {
    const body = wire.body.length > 0 ? wire.body : null
    return this.forward(outgoing, { ...wire, body, isQuery: true }, why)
  }

  forward(outgoing: Outgoing, request: ForwardRequest, why: Bypass<string>): Promise<void> {
    return this.charged(outgoing, () => this.#forward(outgoing, request, why))
  }

  /** Passes a request on once its flat cost is paid, and gives that back where the database failed or the client left. */
  async charged(outgoing: Outgoing, pass: () => Promise<void>): Promise<void> {
    if (outgoing.ticket === undefined) return pass()
    const charge = await outgoing.ticket.chargeForwarded()
    if ('refusal' in charge) {
      this.#own.overQuota(outgoing, charge.refusal, outgoing.ticket!.entity)
      return
    }
    await pass()
    const { outcome, upstreamStatus = 0 } = outgoing.decision
    if (outcome === 'error' || outcome === 'refused' || upstreamStatus >= 500 || outgoing.isGone)
      charge.refund()
  }

  async #forward(outgoing: Outgoing, request: ForwardRequest, why: Bypass<string>): Promise<void> {
    const { decision } = outgoing
    outgoing.isForwarded = true
    resetDecision(decision)
    decision.outcome = 'bypass'
    decision.reason = why.bypass
    if (why.detail !== undefined) decision.detail = why.detail
    const broken = await forward(this.#upstream, request, outgoing)
    if (broken !== undefined) this.#own.broken(outgoing, broken)
  }
}
