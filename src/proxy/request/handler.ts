/**
 * One request, from the socket to its answer: limits → body → admission → query (or forward).
 * Read `handle` from top to bottom; queries.ts has the rest of the way.
 */
import type { WireRequest } from '../../backends/backend.ts'
import { noBytes } from '../../core/bytes.ts'
import { headerOf } from '../../core/headers.ts'
import { climbingRefused, isClimbing } from '../../core/url.ts'
import type { MaybePromise } from '../../stores/store.ts'
import type { Visit } from '../../telemetry/record.ts'
import type { Arrivals } from '../front/arrivals.ts'
import { type Body, type ForwardBody, hasBody, smallBodyOf } from '../front/body.ts'
import type { ClientRequest, Reply } from '../front/exchange.ts'
import type { Admission, Quota } from '../quotas/quota.ts'
import { Cancels } from './cancels.ts'
import { type Incoming, readTarget } from './incoming.ts'
import { Outgoing, type OutgoingOptions } from './outgoing.ts'
import { OwnAnswers } from './own-answers.ts'
import { Queries, type QueriesOptions } from './queries.ts'
import { Renderer, type RendererOptions } from './renderer.ts'
import { notARangeQuery } from './whole.ts'

export interface HandlerOptions extends OutgoingOptions, QueriesOptions, RendererOptions {
  /** Without one no client is limited. */
  readonly quota?: Quota | undefined
  readonly maxRequestBytes: number
  /** Complete requests under way. */
  readonly maxRequests: number
  /** Counts bodies until they are complete. */
  readonly arrivals: Arrivals
  /** Called once per request, when its answer is over; the visit is not valid afterwards. */
  readonly observe?: (visit: Visit) => void
}

export class Handler {
  readonly #options: HandlerOptions
  readonly #cancels: Cancels
  readonly #own: OwnAnswers
  readonly #renderer: Renderer
  readonly #queries: Queries
  #inFlight = 0
  #unfinished = 0

  constructor(options: HandlerOptions) {
    this.#options = options
    this.#cancels = new Cancels(options.backend, options.cache)
    this.#own = new OwnAnswers(options.backend)
    this.#renderer = new Renderer(options, this.#own)
    this.#queries = new Queries(options, { own: this.#own, renderer: this.#renderer, cancels: this.#cancels })
  }

  /** Complete requests that are being answered. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** Whether no request is being answered or still arriving. */
  get isIdle(): boolean {
    return this.#unfinished === 0
  }

  /** Synchronous where possible: a promise is made only where something has to be waited for. */
  handle(request: ClientRequest, response: Reply): MaybePromise<void> {
    const outgoing = new Outgoing(request, response, this.#options)
    this.#unfinished++
    return this.#run(outgoing, () => this.#answer(request, outgoing))
  }

  /** Answers, and looks back when that is over. `later`: it will be run on when the body is there. */
  #run(outgoing: Outgoing, answer: () => MaybePromise<void> | 'later'): MaybePromise<void> {
    try {
      const pending = answer()
      if (pending === 'later') return
      if (pending instanceof Promise) {
        return pending.catch((error) => this.#own.fault(outgoing, error)).then(() => this.#finish(outgoing))
      }
    } catch (error) {
      this.#own.fault(outgoing, error)
    }
    this.#finish(outgoing)
  }

  #finish(outgoing: Outgoing): void {
    this.#unfinished--
    if (outgoing.isCounted) this.#inFlight--
    this.#cancels.forget(outgoing)
    this.#observe(outgoing)
  }

  /** An observer cannot break an answer. */
  #observe(visit: Visit): void {
    try {
      this.#options.observe?.(visit)
    } catch {
      // It has been answered: there is no client to report to.
    }
  }

  #answer(request: ClientRequest, outgoing: Outgoing): MaybePromise<void> | 'later' {
    const incoming = readTarget(request, outgoing.trace)
    if (incoming === undefined)
      return this.#own.refuse(outgoing, 'bad_request', 'the request target is not a path')
    if (this.#options.upstream.hasPrefix && isClimbing(incoming.path))
      return this.#own.refuse(outgoing, 'bad_request', climbingRefused)
    if (isLoop(incoming, this.#options.via)) {
      return this.#own.refuse(
        outgoing,
        'loop',
        'the upstream URL leads back to this Windowpane; point it to the database',
      )
    }
    const { method, path } = incoming
    const isQuery = this.#queries.claims(method, path)
    if (!isQuery && this.#cancels.isSettledHere(incoming)) return this.#own.cancelled(outgoing)
    if (hasBody(request)) return this.#gather(request, outgoing, { incoming, isQuery })
    if (this.#isOneTooMany(outgoing)) return this.#overloaded(outgoing)
    return this.#admitted(outgoing, incoming, () =>
      isQuery
        ? this.#queries.serve(outgoing, withBody(incoming, noBytes))
        : this.#renderer.forward(outgoing, { ...incoming, body: null }, notARangeQuery),
    )
  }

  /** Goes on once the request token is taken: at once where tokens are counted in this thread. */
  #admitted(
    outgoing: Outgoing,
    { headers }: Incoming,
    proceed: () => MaybePromise<void>,
  ): MaybePromise<void> {
    const { quota } = this.#options
    if (quota?.isActive !== true) return proceed()
    const admission = quota.admit({ headers, address: outgoing.clientAddress })
    const goOn = ({ ticket, refusal }: Admission): MaybePromise<void> => {
      if (refusal !== undefined) return this.#own.overQuota(outgoing, refusal, ticket.entity)
      outgoing.ticket = ticket
      return proceed()
    }
    return admission instanceof Promise ? admission.then(goOn) : goOn(admission)
  }

  /** Requests are counted when they are complete: slow clients do not use up the capacity of others. */
  #isOneTooMany(outgoing: Outgoing): boolean {
    outgoing.isCounted = true
    this.#inFlight++
    return this.#inFlight > this.#options.maxRequests
  }

  #overloaded(outgoing: Outgoing): void {
    const { maxRequests } = this.#options
    const message = `more than ${maxRequests} requests at once; try again, or raise limits.maxRequests`
    this.#own.refuse(outgoing, 'overloaded', message)
  }

  #gather(
    request: ClientRequest,
    outgoing: Outgoing,
    { incoming, isQuery }: { readonly incoming: Incoming; readonly isQuery: boolean },
  ): MaybePromise<void> | 'later' {
    const { maxRequestBytes: maxBytes, arrivals } = this.#options
    const limits = { maxBytes, arrivals, hold: (bytes: number) => outgoing.memory.hold(bytes) }
    const { unread } = request
    if (isQuery) {
      request.gather(limits, (body) => {
        void this.#run(outgoing, () => this.#queryWithBody(outgoing, incoming, body))
      })
    } else if (unread instanceof Uint8Array) return this.#forwardWithBody(outgoing, incoming, unread)
    else {
      smallBodyOf(unread, limits, (body) => {
        void this.#run(outgoing, () => this.#forwardWithBody(outgoing, incoming, body))
      })
    }
    return 'later'
  }

  #queryWithBody(outgoing: Outgoing, incoming: Incoming, body: Body): MaybePromise<void> {
    if (body instanceof Buffer) {
      if (this.#isOneTooMany(outgoing)) return this.#overloaded(outgoing)
      return this.#admitted(outgoing, incoming, () => this.#queries.serve(outgoing, withBody(incoming, body)))
    }
    if (body === 'gone') return this.#own.clientGone(outgoing)
    if (body === 'no room') return this.#noRoom(outgoing)
    const { maxRequestBytes } = this.#options
    this.#own.refuse(outgoing, 'request_too_large', `a query may have ${maxRequestBytes} bytes`)
  }

  /** A body that is still arriving has its own limit: see slots.ts. */
  #forwardWithBody(
    outgoing: Outgoing,
    incoming: Incoming,
    body: Uint8Array | ForwardBody,
  ): MaybePromise<void> {
    if (body === 'gone') return this.#own.clientGone(outgoing)
    if (body === 'no room') return this.#noRoom(outgoing)
    if (body instanceof Uint8Array && this.#isOneTooMany(outgoing)) return this.#overloaded(outgoing)
    outgoing.hasUnreadBody = !(body instanceof Uint8Array)
    return this.#admitted(outgoing, incoming, () =>
      this.#renderer.forward(outgoing, { ...incoming, body }, notARangeQuery),
    )
  }

  #noRoom(outgoing: Outgoing): void {
    outgoing.closeAfterResponse()
    this.#own.refuse(outgoing, 'overloaded', 'no memory is left for the request; raise limits.memory')
  }
}

/** Without a spread, which costs more than the rest of it. */
const withBody = ({ method, path, search, headers }: Incoming, body: Uint8Array): WireRequest => ({
  method,
  path,
  search,
  headers,
  body,
})

function isLoop(incoming: Incoming, via: string): boolean {
  const passed = headerOf(incoming.headers, 'via')
  return passed?.includes(via) === true
}
