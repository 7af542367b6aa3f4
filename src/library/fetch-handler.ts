/**
 * The engine as a library: answers a Web `Request` from the interval cache and queries the database with `fetch`. A
 * request that is not a query of the database is forwarded. Read `handle` from top to bottom.
 */
import type { Backend, Bypass, Plan, WireRequest } from '../backends/backend.ts'
import { Budget, spareOf } from '../core/budget.ts'
import { bytesOf, noBytes } from '../core/bytes.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { type Decision, newDecision, type RefusalReason, resetDecision } from '../core/decision.ts'
import { failureText } from '../core/text.ts'
import { climbingRefused, isClimbing } from '../core/url.ts'
import { newUuid } from '../core/uuid.ts'
import type { WholeResponse } from '../engine/fetch.ts'
import { readDemands } from '../engine/http/demands.ts'
import { FlavourWatch } from '../engine/http/flavour.ts'
import { bodyHeaders, decisionHeaders, endToEnd, requestHeaders } from '../engine/http/headers.ts'
import { type Identity, identityOf } from '../engine/http/identity.ts'
import { errorAnswerOf, failureMessage, planRequest } from '../engine/http/plan-request.ts'
import { IntervalCache } from '../engine/interval-cache.ts'
import { Marks } from '../engine/marks.ts'
import type { Answer, Client } from '../engine/trip.ts'
import { type Limits, limitsOf } from '../proxy/limits.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { Store } from '../stores/store.ts'
import { ladder } from '../ttl/ladder.ts'
import { Learner } from '../ttl/learned/learner.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import { stretched } from '../ttl/stretched.ts'
import { FetchUpstream, headersOf, responseHeaders } from './fetch-upstream.ts'
import { readBody } from './read-body.ts'

export interface FetchHandlerOptions {
  /** The database's URL; its path goes before that of every request. */
  readonly upstream: string
  readonly backend: Backend
  /** The ladder by default. */
  readonly policy?: TtlPolicy
  /** Memory within `limits.memoryBytes` by default. The caller closes it. */
  readonly store?: Store
  /** The identity partition of a request; by default equal credentials, cookies and tenants share answers. */
  readonly identity?: Identity
  /** Those of connections and listeners are not used: they are the caller's. */
  readonly limits?: Partial<Limits>
  /** Queries the database; the runtime's own by default. */
  readonly fetch?: typeof fetch
  readonly clock?: Clock
  /** Part of every key: handlers for different databases that share a store have different names. */
  readonly name?: string
}

/** Rejects only with the reason of an aborted signal. */
export type FetchHandler = (request: Request) => Promise<Response>

export function fetchHandler(options: FetchHandlerOptions): FetchHandler {
  const handler = new Handler(options)
  return (request) => handler.handle(request)
}

const refusals = {
  request_too_large: 413,
  only_if_cached: 504,
  bad_request: 400,
} as const satisfies Partial<Record<RefusalReason, number>>

/** One request on its way. */
interface Visit {
  readonly wire: WireRequest
  readonly signal: AbortSignal
  readonly decision: Decision
}

/** Why a request is passed on, and its body where that has not been read. */
interface Pass {
  readonly reason: string
  readonly detail?: string | undefined
  readonly body?: ReadableStream<Uint8Array> | null
}

class Handler {
  readonly #backend: Backend
  readonly #clock: Clock
  readonly #identity: Identity
  readonly #maxRequestBytes: number
  readonly #upstream: FetchUpstream
  readonly #flavour: FlavourWatch
  readonly #cache: IntervalCache
  #asked: Promise<void> | undefined

  constructor(options: FetchHandlerOptions) {
    const { backend, name = 'main', clock = systemClock, identity = 'separate' } = options
    const policy = stretched(options.policy ?? ladder(), backend.capabilities.settledAgeMs)
    const limits = limitsOf(options.limits)
    const { memoryBytes, maxBucketsPerShape, upstreamTimeoutMs: idleTimeoutMs } = limits
    const budget = new Budget(memoryBytes, { spare: spareOf(memoryBytes) })
    const retentionMs = Math.max(limits.retentionMs, policy.capMs + limits.maxStaleMs)
    const store = options.store ?? memoryStore({ clock, budget, retentionMs, maxBucketsPerShape })
    // Looked up at each call, so that a replaced global is used.
    const ask = options.fetch ?? ((...args: Parameters<typeof fetch>) => fetch(...args))
    const upstream = new FetchUpstream({ url: options.upstream, fetch: ask, clock, idleTimeoutMs })
    this.#backend = backend
    this.#clock = clock
    this.#identity = identity
    this.#maxRequestBytes = limits.maxRequestBytes
    this.#upstream = upstream
    this.#flavour = new FlavourWatch(backend.flavour, upstream, clock)
    const parts = { name, backend, store, policy, upstream, clock, budget }
    const lapsesOnEpochs = !backend.capabilities.severalIntervals
    const learning = new Learner({ clock, lapsesOnEpochs })
    const marks = new Marks({ clock, retentionMs })
    this.#cache = new IntervalCache({
      ...{ ...limits, ...parts, learning, coalescing: true },
      ...{ marks: marks.of(name), mark: (change) => marks.add(change) },
    })
  }

  async handle(request: Request): Promise<Response> {
    const { signal } = request
    const visit = { wire: wireOf(request), signal, decision: newDecision() }
    signal.throwIfAborted()
    if (this.#upstream.hasPrefix && isClimbing(visit.wire.path))
      return this.#refuse(visit, 'bad_request', climbingRefused)
    if (!this.#backend.claims(visit.wire.method, visit.wire.path)) {
      return this.#passOn(visit, { reason: 'not_a_range_query', body: request.body })
    }
    const body = await readBody(request.body, this.#maxRequestBytes)
    if (body === 'too long') {
      return this.#refuse(visit, 'request_too_large', `a query may have ${this.#maxRequestBytes} bytes`)
    }
    return this.#query({ ...visit, wire: { ...visit.wire, body } })
  }

  async #query(visit: Visit): Promise<Response> {
    const { wire, signal, decision } = visit
    const demands = readDemands(wire.headers, this.#clock.now())
    const plan = demands.noStore ? { bypass: 'no_store' as const } : await this.#plan(wire)
    if ('bypass' in plan) {
      if (demands.onlyIfCached) return this.#refuse(visit, 'only_if_cached', 'this is never stored')
      return this.#passOn(visit, { reason: plan.bypass, detail: plan.detail })
    }
    const partition = this.#identity
    const identity = identityOf(wire.headers, partition)
    const request = { plan, identity, partition, demands, client: clientOf(signal) }
    const answer = await Promise.race([this.#cache.serve(request, decision), abortedBy(signal)])
    return this.#render(visit, plan, answer)
  }

  async #plan(wire: WireRequest): Promise<Plan | Bypass<string>> {
    // Only the first requests wait: later, the database is detected again in the background.
    this.#asked ??= this.#flavour.ask(wire.headers)
    await this.#asked
    const flavour = () => this.#flavour.noteRequest(wire.headers)
    return planRequest({ backend: this.#backend, now: this.#clock.now(), flavour }, wire)
  }

  async #render(visit: Visit, plan: Plan, answer: Answer): Promise<Response> {
    switch (answer.kind) {
      case 'panes': {
        const own = this.#backend.presentation?.ownHeaders?.(plan, () => newUuid(this.#clock.random)) ?? []
        return whole(visit, { status: 200, headers: [...answer.headers, ...own], body: bytesOf(answer.body) })
      }
      case 'response':
        return whole(visit, answer.response)
      case 'failure': {
        const { response } = answer.failure
        return response === undefined ? this.#broken(visit, answer.failure) : whole(visit, response)
      }
      case 'not-cached':
        return this.#refuse(visit, 'only_if_cached', 'the answer is not stored as a whole')
      case 'forward':
        return this.#passOn(visit, answer)
      default:
        // Nothing is streamed or limited from here: the client is gone.
        throw visit.signal.reason
    }
  }

  async #passOn(visit: Visit, { reason, detail, body }: Pass): Promise<Response> {
    const { wire, signal, decision } = visit
    resetDecision(decision)
    decision.outcome = 'bypass'
    decision.reason = reason
    if (detail !== undefined) decision.detail = detail
    try {
      const response = await this.#upstream.forward(body === undefined ? wire : { ...wire, body }, signal)
      const { status, statusText } = response
      decision.upstreamStatus = status
      const passed = responseHeaders(response)
      const headers = headersOf([...passed, ...decisionHeaders(decision, passed)])
      return new Response(response.body, { status, statusText, headers })
    } catch (error) {
      signal.throwIfAborted()
      return this.#broken(visit, { reason: 'database_unreachable', detail: failureText(error) })
    }
  }

  #broken(visit: Visit, broken: { readonly reason: string; readonly detail: string }): Response {
    const { status, reason, message } = failureMessage(broken)
    resetDecision(visit.decision)
    visit.decision.reason = reason
    visit.decision.detail = broken.detail
    return this.#error(visit, status, message)
  }

  #refuse(visit: Visit, reason: keyof typeof refusals, message: string): Response {
    resetDecision(visit.decision)
    visit.decision.outcome = 'refused'
    visit.decision.reason = reason
    return this.#error(visit, refusals[reason], `windowpane: ${message}`)
  }

  #error(visit: Visit, status: number, message: string): Response {
    const { contentType, body } = errorAnswerOf(this.#backend, status, message)
    return whole(visit, { status, headers: ['Content-Type', contentType], body: Buffer.from(body) })
  }
}

function wireOf(request: Request): WireRequest {
  const { pathname, search } = new URL(request.url)
  const headers = requestHeaders([...request.headers].flat())
  return { method: request.method, path: pathname, search: search.slice(1), headers, body: noBytes }
}

const clientOf = (signal: AbortSignal): Client => ({
  get isGone() {
    return signal.aborted
  },
  onGone: (callback) => signal.addEventListener('abort', callback, { once: true }),
})

/** Rejects when the signal is aborted: a flight that others wait for, too, goes on without this client. */
const abortedBy = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

function whole({ decision }: Visit, { status, headers, body }: WholeResponse): Response {
  const kept = endToEnd(headers, bodyHeaders)
  const own = [...decisionHeaders(decision, kept), 'Content-Length', String(body.length)]
  // A status without a body (204) takes none, not even an empty one.
  return new Response(body.length === 0 ? null : (body as Uint8Array<ArrayBuffer>), {
    status,
    headers: headersOf([...kept, ...own]),
  })
}
