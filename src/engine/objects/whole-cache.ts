/**
 * Serves requests whose answer is cached as a whole: object cache → fetch → answer. Read `serve` from top to bottom.
 * The object cache decides about freshness, leases and storing; this file decides which requests share an object,
 * applies marks and client demands, and queries the database. Instant queries, whose time never repeats, have their own
 * path: instants.ts.
 */

import type { EpochMs } from '../../core/clock.ts'
import { type Decision, newDecision } from '../../core/decision.ts'
import type { MaybePromise } from '../../stores/store.ts'
import { KeyMemo } from '../key-memo.ts'
import { type Answer, nobody } from '../trip.ts'
import { Instants } from './instants.ts'
import { type EarlierAnswer, MovedBounds } from './moved-bounds.ts'
import type { ObjectAnswer, ObjectDemands, ObjectKey, Rendered } from './objects.ts'
import { RevalidateBudget } from './revalidate-budget.ts'
import {
  failedAnswer,
  missAnswer,
  missReason,
  noteHit,
  slow,
  staleAnswer,
  streamedAnswer,
  type WhyStale,
} from './whole-answer.ts'
import { noGrid, WholeFetcher, type WholeResult } from './whole-fetch.ts'
import { markedAt } from './whole-marks.ts'
import { NotRendered, refusedOf, renderedOf } from './whole-render.ts'
import {
  demandsOf,
  type OwnFetch,
  type WholeCacheOptions,
  type WholeRequest,
  type WholeTrip,
} from './whole-request.ts'
import { Waiters } from './whole-waiters.ts'

/** The stored answer, and the demands of purges, changes and the client. */
export interface LookedWhole extends Pick<WholeTrip, 'key' | 'marked' | 'demands'> {
  /** `at`: the evaluation time of an instant query. */
  readonly stored:
    | { readonly generatedAt: EpochMs; readonly freshUntil?: EpochMs; readonly at?: EpochMs }
    | undefined
}

export class WholeCache {
  readonly #options: WholeCacheOptions
  readonly #fetcher: WholeFetcher
  readonly #instants: Instants
  readonly #keys: KeyMemo
  readonly #waiters = new Waiters()
  readonly #budget = new RevalidateBudget()
  readonly #movedBounds: MovedBounds

  constructor(options: WholeCacheOptions) {
    this.#options = options
    this.#fetcher = new WholeFetcher(options)
    this.#keys = new KeyMemo(options.name)
    this.#movedBounds = new MovedBounds(options)
    this.#instants = new Instants(options, this.#fetcher)
  }

  /** A fresh answer in this process is given at once. */
  serve(request: WholeRequest, decision: Decision): MaybePromise<Answer> {
    const trip = this.#tripOf(request, decision)
    const { key, demands } = trip
    const { plan, terms } = trip.request
    if (plan.at !== undefined) return this.#instants.serve(trip, plan.at)
    if (request.demands.onlyIfCached) return this.#onlyStored(trip)
    const own: OwnFetch = { isAnswered: false }
    const render = () => this.#render(trip, own)
    const got = this.#options.objects.get(this.#objectKey(key), render, terms, demands)
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
    decision.reason = missReason(request.demands, marked, false)
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

  async #render({ request, key }: WholeTrip, own: OwnFetch): Promise<Rendered> {
    const { plan, partition, target, terms } = request
    const fetch = this.#fetcher.fetch({ plan, partition, target: own.isAnswered ? undefined : target })
    own.fetch = fetch
    this.#waiters.fetching(key, fetch)
    if (request.client.isGone) fetch.dropTarget()
    const result = await fetch.result
    if (result.kind === 'refused') return refusedOf(result.response)
    if (result.kind !== 'answer') throw new NotRendered(result)
    own.rendered = { ...renderedOf(result, terms, this.#options.backend.capabilities), result }
    return own.rendered
  }

  /** Not longer than its patience, where a stale answer is at hand. */
  async #wait(trip: WholeTrip, got: Promise<ObjectAnswer>, own: OwnFetch): Promise<Answer> {
    const { key, request } = trip
    const leave = this.#waiters.enter(key, own.fetch)
    request.client.onGone(() => {
      own.fetch?.dropTarget()
      leave(true)
    })
    try {
      const first = await this.#fetcher.orInstead(got, request.client, () => this.#staleOf(trip, own))
      if (first === 'gone' || request.client.isGone) return { kind: 'client-gone' }
      if ('stale' in first) {
        own.fetch?.dropTarget()
        return this.#earlier(trip.decision, first, slow)
      }
      const answer = await this.#answer(trip, first, own)
      if (isStored(answer, trip.decision)) this.#movedBounds.note(trip)
      return answer
    } catch (error) {
      return await this.#withoutAnswer(trip, own, error)
    } finally {
      leave(false)
    }
  }

  async #staleOf(trip: WholeTrip, own: OwnFetch): Promise<EarlierAnswer | undefined> {
    const { key, demands } = trip
    const stale = await this.#options.objects.peek(this.#objectKey(key), demands)
    const isUsable = stale !== undefined && stale.generatedAt >= demands.usableFrom
    const found = isUsable ? { stale, detail: '' } : await this.#movedBounds.find(trip)
    return own.fetch?.isStreaming === true ? undefined : found
  }

  #answer(trip: WholeTrip, answer: ObjectAnswer, own: OwnFetch): MaybePromise<Answer> {
    if (answer.state === 'miss' || answer.state === 'wait-hit') return missAnswer(trip, answer, own)
    if (answer.state === 'stale' && answer.failure !== undefined) return this.#stale(trip, answer, own)
    noteHit(trip.decision, answer, this.#options.clock.now())
    if (answer.state === 'stale') {
      trip.decision.detail = 'being regenerated'
      own.fetch?.dropTarget()
    }
    return { kind: 'object', ...answer }
  }

  #stale(trip: WholeTrip, answer: ObjectAnswer, own: OwnFetch): MaybePromise<Answer> {
    const { failure } = answer
    const result = failure instanceof NotRendered ? failure.result : undefined
    if (this.#isCancelledByAnother(own, result)) return this.serve(trip.request, trip.decision)
    // The database has answered, and the answer cannot be stored: the stored one is out of date.
    if (result !== undefined && result.kind !== 'broken') return this.#withoutAnswer(trip, own, failure)
    // Another failure is one of the store: the database is being queried meanwhile.
    const why = result ?? { ...slow, detail: String(failure) }
    return staleAnswer(trip.decision, answer, { ...why, now: this.#options.clock.now() })
  }

  /**
   * Clients can cancel their queries by the ids that they gave them. Other requests that waited for the answer then query
   * the database themselves.
   */
  #isCancelledByAnother({ fetch }: OwnFetch, result: WholeResult | undefined): boolean {
    if (fetch !== undefined || result?.kind !== 'broken' || result.response === undefined) return false
    const { status, body } = result.response
    return this.#options.backend.cancellation?.isCancellation(status, body) === true
  }

  async #withoutAnswer(trip: WholeTrip, own: OwnFetch, error: unknown): Promise<Answer> {
    if (own.fetch?.isStreaming === true) return streamedAnswer(own.fetch)
    if (!(error instanceof NotRendered))
      return { kind: 'forward', reason: 'store_failed', detail: String(error) }
    const { result } = error
    if (this.#isCancelledByAnother(own, result)) return this.serve(trip.request, trip.decision)
    // The client of that fetch has disconnected: this request queries the database itself.
    if (result.kind === 'abandoned')
      return trip.request.client.isGone ? { kind: 'client-gone' } : this.serve(trip.request, trip.decision)
    if (result.kind === 'broken') {
      const earlier = await this.#movedBounds.find(trip)
      if (earlier !== undefined) return this.#earlier(trip.decision, earlier, result)
    }
    return failedAnswer(trip.decision, result)
  }

  #earlier(decision: Decision, earlier: EarlierAnswer, why: WhyStale): Answer {
    const detail = [why.detail, earlier.detail].filter((each) => each !== '').join('; ')
    return staleAnswer(decision, earlier.stale, { ...why, detail, now: this.#options.clock.now() })
  }
}

const isStored = ({ kind }: Answer, { outcome, stored }: Decision): boolean =>
  stored === true || (kind === 'object' && outcome !== 'stale' && stored !== false)
