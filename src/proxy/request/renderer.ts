/** Sends the answer of the cache to the client, or forwards the request to the database where the cache has none. */
import type { Backend, Bypass, HeaderList, Recomposed, WireRequest } from '../../backends/backend.ts'
import type { Clock } from '../../core/clock.ts'
import { resetDecision } from '../../core/decision.ts'
import { headerOf } from '../../core/headers.ts'
import { newUuid } from '../../core/uuid.ts'
import { isNotModified } from '../../engine/objects/http-conditional.ts'
import type { Answer } from '../../engine/trip.ts'
import type { MaybePromise } from '../../stores/store.ts'
import type { ForwardRequest, HttpUpstream } from '../upstream/upstream.ts'
import { type CachedAnswer, sendCached } from './cached-answer.ts'
import { forward } from './forward.ts'
import type { Outgoing } from './outgoing.ts'
import type { OwnAnswers } from './own-answers.ts'

type ObjectAnswer = Extract<Answer, { kind: 'object' }>

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
        const own = this.#backend.presentation?.ownHeaders?.(outgoing.plan!, this.#newId)
        const { body, panes } = answer
        const headers = own === undefined ? answer.headers : answer.headers.concat(own)
        return this.#send(outgoing, wire, { headers, body, panes })
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

  /** With an entity tag, so that a client that has the answer already gets a 304. */
  #object(outgoing: Outgoing, wire: WireRequest, answer: ObjectAnswer): MaybePromise<void> {
    const own = this.#backend.presentation?.ownHeaders?.(outgoing.kept!, this.#newId)
    const headers = objectHeaders(answer).concat(own ?? [])
    if (isNotModified(wire.headers, answer.etag)) return outgoing.notModified(headers)
    return this.#send(outgoing, wire, { headers, body: bodyOf(answer.body), name: answer.etag })
  }

  /** Forwards the request where the memory budget has no room for its answer. */
  #send(outgoing: Outgoing, wire: WireRequest, answer: CachedAnswer): MaybePromise<void> {
    const sending = sendCached(outgoing, answer)
    if (sending === true) return
    const orForward = (isSent: boolean) =>
      isSent ? undefined : this.forwardQuery(outgoing, wire, { bypass: 'memory_exhausted' })
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

/** Weak, because the answer may be sent in several encodings: they have equal content, not equal bytes. */
function objectHeaders({ headers, etag }: ObjectAnswer): HeaderList {
  const vary = headerOf(headers, 'vary')
  const tagged = [...headers, 'ETag', `W/${etag.replace(/^W\//, '')}`]
  return vary !== undefined && /(?:^|,)\s*(?:\*|accept-encoding)\s*(?:,|$)/i.test(vary)
    ? tagged
    : [...tagged, 'Vary', 'Accept-Encoding']
}

/** A body that is sent from where it lies. */
const bodyOf = (bytes: Uint8Array): Recomposed => ({
  length: bytes.length,
  write: (target) => target.set(bytes),
  views: () => [bytes],
})
