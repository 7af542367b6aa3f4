/**
 * Serves requests whose answer is cached as a whole: object cache → fetch → answer. Read `serve` from top to bottom.
 * The object cache decides about freshness, leases and storing; this file decides which requests share an object,
 * applies marks and client demands, and queries the database. Instant queries, whose time never repeats, have their own
 * path: instants.ts.
 */

import type { EpochMs } from '../../core/clock.ts'
import { type Decision, newDecision } from '../../core/decision.ts'
import { gridThrough } from '../../core/grid.ts'
import type { MaybePromise } from '../../stores/store.ts'
import { Backlog } from '../backlog.ts'
import { KeyMemo } from '../key-memo.ts'
import type { Answer } from '../trip.ts'
import { Instants } from './instants.ts'
import { type EarlierAnswer, MovedBounds } from './moved-bounds.ts'
import type { ObjectAnswer, ObjectDemands, ObjectKey, Rendered } from './objects.ts'
import { RevalidateBudget } from './revalidate-budget.ts'
import {
  type Fetched,
  fetchWhole,
  type WholeFetch,
  type WholeFetchOptions,
  type WholeResult,
} from './whole-fetch.ts'
import { markedAt } from './whole-marks.ts'
import { NotRendered, refusedOf, renderedOf } from './whole-render.ts'
import {
  brokenAnswer,
  demandsOf,
  isCancelled,
  missReason,
  noteHit,
  noteStale,
  orInstead,
  refusedAnswer,
  slow,
  type WholeCacheOptions,
  type WholeRequest,
  type WholeTrip,
} from './whole-request.ts'
import { Waiters } from './whole-waiters.ts'

/** The share of all memory that one answer may take: one long list must not evict the buckets of many panels. */
const bodyShare = 1 / 64

/** Whole answers have no buckets. */
const noGrid = gridThrough('point', 1, 0)

/** The fetch of one request, where this request queried the database. */
interface Own {
  fetch?: WholeFetch
  rendered?: Rendered & { readonly result: Fetched }
  /** It has its answer: the rest of the fetch is for the store alone. */
  isAnswered: boolean
}

/** The stored answer, and the demands of purges, changes and the client. */
export interface LookedWhole extends Pick<WholeTrip, 'key' | 'marked' | 'demands'> {
  /** `at`: the evaluation time of an instant query. */
  readonly stored:
    | { readonly generatedAt: EpochMs; readonly freshUntil?: EpochMs; readonly at?: EpochMs }
    | undefined
}

const nobody = { isGone: false, onGone() {} }

export class WholeCache {
  readonly #options: WholeCacheOptions
  readonly #fetching: WholeFetchOptions
  readonly #instants: Instants
  readonly #keys: KeyMemo
  readonly #waiters = new Waiters()
  readonly #budget = new RevalidateBudget()
  readonly #movedBounds: MovedBounds
  #isDatabaseDown = false

  constructor(options: WholeCacheOptions) {
    const { budget, clock, maxAnswerBytes, backlog = new Backlog(clock) } = options
    const maxBodyBytes = Math.min(maxAnswerBytes, budget.limit * bodyShare)
    this.#options = options
    this.#fetching = { ...options, backlog, maxBodyBytes }
    this.#keys = new KeyMemo(options.name)
    this.#movedBounds = new MovedBounds(options)
    this.#instants = new Instants(options, {
      fetch: (asked) => this.#fetch(asked),
      patienceMs: () => this.#patienceMs,
    })
  }

  /** A fresh answer in this process is given at once. */
  serve(request: WholeRequest, decision: Decision): MaybePromise<Answer> {
    const trip = this.#tripOf(request, decision)
    const { at } = request.plan
    if (at !== undefined) return this.#instants.serve(trip, at)
    if (request.demands.onlyIfCached) return this.#onlyStored(trip)
    const own: Own = { isAnswered: false }
    const got = this.#get(trip, own)
    if (got instanceof Promise) return this.#wait(trip, got, own)
    own.isAnswered = true
    return this.#answer(trip, got, own)
  }

  #tripOf(given: WholeRequest, decision: Decision): WholeTrip {
    const request = this.#budgeted(given)
    const { plan, identity } = request
    const key = this.#keys.keyOf(`whole ${plan.endpoint} ${plan.text}`, noGrid, identity)
    const { marks, witness } = this.#options
    const marked = markedAt(marks, key, plan)
    const demands = {
      ...demandsOf(marked, request.demands),
      vouched: witness?.vouchedForObject(plan),
      onRegenerated: this.#observerOf(request),
    }
    const trip = { request, key, decision, marked, demands }
    decision.key = key
    // A long answer is streamed to the client while it arrives: later findings are not reported.
    decision.outcome = 'miss'
    decision.reason = missReason(trip, false)
    return trip
  }

  #budgeted(request: WholeRequest): WholeRequest {
    const { plan, staleness, terms } = request
    if (staleness === undefined) return request
    return { ...request, terms: this.#budget.termsFor(plan.endpoint, staleness, terms) }
  }

  #observerOf({ plan, staleness }: WholeRequest): ObjectDemands['onRegenerated'] {
    return staleness === undefined ? undefined : (seen) => this.#budget.observe(plan.endpoint, seen)
  }

  async #onlyStored({ key, decision, demands }: WholeTrip): Promise<Answer> {
    const { objects, clock } = this.#options
    const stored = await objects.peek(this.#objectKey(key), demands)
    const now = clock.now()
    if (stored === undefined || stored.generatedAt < demands.freshFrom || stored.freshUntil <= now)
      return { kind: 'not-cached' }
    noteHit(decision, stored, now)
    return { kind: 'object', ...stored }
  }

  /** The state of the answer to a request; has no effect. */
  async look(request: Omit<WholeRequest, 'client' | 'target'>): Promise<LookedWhole> {
    const { key, marked, demands } = this.#tripOf({ ...request, client: nobody }, newDecision())
    const { plan } = request
    const stored =
      plan.at === undefined
        ? await this.#options.objects.peek(this.#objectKey(key), { vouched: demands.vouched })
        : this.#instants.last(key)
    return { key, marked, demands, stored }
  }

  #objectKey(key: string): ObjectKey {
    return { tenant: this.#options.name, key }
  }

  #get(trip: WholeTrip, own: Own): MaybePromise<ObjectAnswer> {
    const { request, key, demands } = trip
    return this.#options.objects.get(
      this.#objectKey(key),
      () => this.#render(trip, own),
      request.terms,
      demands,
    )
  }

  async #render({ request, key }: WholeTrip, own: Own): Promise<Rendered> {
    const { plan, partition, target, terms } = request
    const fetch = this.#fetch({ plan, partition, target: own.isAnswered ? undefined : target })
    own.fetch = fetch
    this.#waiters.fetching(key, fetch)
    if (request.client.isGone) fetch.dropTarget()
    const result = await fetch.result
    if (result.kind === 'refused') return refusedOf(result.response)
    if (result.kind !== 'answer') throw new NotRendered(result)
    own.rendered = { ...renderedOf(result, terms, this.#options.backend.capabilities), result }
    return own.rendered
  }

  #fetch(asked: Parameters<typeof fetchWhole>[1]): WholeFetch {
    const fetch = fetchWhole(this.#fetching, asked)
    void fetch.result.then((result) => {
      if (result.kind !== 'abandoned')
        this.#isDatabaseDown = result.kind === 'broken' && result.response === undefined
    })
    return fetch
  }

  get #patienceMs(): number {
    const { slow: slowMs, down } = this.#options.patienceMs
    return this.#isDatabaseDown ? down : slowMs
  }

  /** Not longer than its patience, where a stale answer is at hand. */
  async #wait(trip: WholeTrip, got: Promise<ObjectAnswer>, own: Own): Promise<Answer> {
    const { key, request } = trip
    const leave = this.#waiters.enter(key, own.fetch)
    request.client.onGone(() => {
      own.fetch?.dropTarget()
      leave(true)
    })
    try {
      const patience = { clock: this.#options.clock, patienceMs: this.#patienceMs, client: request.client }
      const first = await orInstead(got, patience, () => this.#staleOf(trip, own))
      if (first === 'gone' || request.client.isGone) return { kind: 'client-gone' }
      if ('stale' in first) return this.#slow(trip, own, first)
      const answer = await this.#answer(trip, first, own)
      if (isStored(answer, trip.decision)) this.#movedBounds.note(trip)
      return answer
    } catch (error) {
      return await this.#withoutAnswer(trip, own, error)
    } finally {
      leave(false)
    }
  }

  async #staleOf(trip: WholeTrip, own: Own): Promise<EarlierAnswer | undefined> {
    const { key, demands } = trip
    const stale = await this.#options.objects.peek(this.#objectKey(key), demands)
    const isUsable = stale !== undefined && stale.generatedAt >= demands.usableFrom
    const found = isUsable ? { stale, detail: '' } : await this.#movedBounds.find(trip)
    return own.fetch?.isStreaming === true ? undefined : found
  }

  #slow({ decision }: WholeTrip, own: Own, earlier: EarlierAnswer): Answer {
    own.fetch?.dropTarget()
    return this.#earlier(decision, earlier, slow)
  }

  #answer(trip: WholeTrip, answer: ObjectAnswer, own: Own): MaybePromise<Answer> {
    if (answer.state === 'miss') return this.#fetched(trip, answer, own)
    if (answer.state === 'wait-hit') return this.#shared(trip, answer)
    if (answer.state === 'stale' && answer.failure !== undefined) return this.#stale(trip, answer, own)
    noteHit(trip.decision, answer, this.#options.clock.now())
    if (answer.state === 'stale') {
      trip.decision.detail = 'being regenerated'
      own.fetch?.dropTarget()
    }
    return { kind: 'object', ...answer }
  }

  /** This request has queried the database. */
  async #fetched(trip: WholeTrip, answer: ObjectAnswer, { fetch, rendered }: Own): Promise<Answer> {
    const { decision } = trip
    if (answer.status !== 200) return refusedAnswer(decision, answer)
    decision.outcome = 'miss'
    decision.reason = missReason(trip, answer.replaced !== undefined)
    decision.upstreamStatus = answer.status
    decision.stored = rendered?.result.forbidden === undefined && rendered?.result.isComplete === true
    if (rendered?.result.forbidden !== undefined) decision.unstored = rendered.result.forbidden.reason
    if (fetch?.isStreaming === true) {
      await fetch.delivered
      return { kind: 'streamed' }
    }
    const isForbidden = rendered?.result.forbidden !== undefined
    return isForbidden ? { kind: 'response', response: answer } : { kind: 'object', ...answer }
  }

  /** Another request has queried it, or another node. */
  #shared(trip: WholeTrip, answer: ObjectAnswer): Answer {
    const { decision } = trip
    if (answer.status !== 200) return refusedAnswer(decision, answer)
    decision.outcome = 'miss'
    decision.reason = missReason(trip, answer.replaced !== undefined)
    decision.collapsed = true
    return { kind: 'object', ...answer }
  }

  #stale(trip: WholeTrip, answer: ObjectAnswer, own: Own): MaybePromise<Answer> {
    const { failure } = answer
    const result = failure instanceof NotRendered ? failure.result : undefined
    if (this.#isOfAnother(own, result)) return this.serve(trip.request, trip.decision)
    // The database has answered, and the answer cannot be stored: the stored one is out of date.
    if (result !== undefined && result.kind !== 'broken') return this.#withoutAnswer(trip, own, failure)
    // Another failure is one of the store: the database is being queried meanwhile.
    const why = result ?? { ...slow, detail: String(failure) }
    noteStale(trip.decision, { ...answer, now: this.#options.clock.now() }, why)
    return { kind: 'object', ...answer }
  }

  #isOfAnother({ fetch }: Own, result: WholeResult | undefined): boolean {
    return fetch === undefined && isCancelled(this.#options.backend, result)
  }

  async #withoutAnswer(trip: WholeTrip, own: Own, error: unknown): Promise<Answer> {
    if (own.fetch?.isStreaming === true) {
      await own.fetch.delivered
      return { kind: 'streamed' }
    }
    if (!(error instanceof NotRendered))
      return { kind: 'forward', reason: 'store_failed', detail: String(error) }
    const { result } = error
    if (this.#isOfAnother(own, result)) return this.serve(trip.request, trip.decision)
    if (result.kind === 'broken') {
      const earlier = await this.#movedBounds.find(trip)
      return earlier === undefined
        ? brokenAnswer(trip.decision, result)
        : this.#earlier(trip.decision, earlier, result)
    }
    if (result.kind === 'unusable') return { kind: 'forward', reason: result.reason, detail: result.detail }
    if (result.kind === 'refused') return refusedAnswer(trip.decision, result.response)
    // The client of that fetch has disconnected: this request queries the database itself.
    return trip.request.client.isGone ? { kind: 'client-gone' } : this.serve(trip.request, trip.decision)
  }

  #earlier(
    decision: Decision,
    { stale, detail }: EarlierAnswer,
    why: Parameters<typeof noteStale>[2],
  ): Answer {
    const details = [why.detail, detail].filter((each) => each !== '').join('; ')
    noteStale(decision, { ...stale, now: this.#options.clock.now() }, { ...why, detail: details })
    return { kind: 'object', ...stale }
  }
}

const isStored = ({ kind }: Answer, { outcome, stored }: Decision): boolean =>
  stored === true || (kind === 'object' && outcome !== 'stale' && stored !== false)
