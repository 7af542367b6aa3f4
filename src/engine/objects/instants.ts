/**
 * Instant queries: clients give a time that never repeats, so that an answer stands only for the same time, or, where that is
 * configured, for a time a little later. Equal requests at once are one query to the database. The last answer to each question is
 * kept in memory, for outages.
 */
import type { HeaderList } from '../../backends/backend.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { MaybePromise } from '../../stores/store.ts'
import { keptHeaders } from '../kept-headers.ts'
import type { Answer } from '../trip.ts'
import { etagOf } from './object-names.ts'
import { failedAnswer, noteHit, slow, staleAnswer, streamedAnswer, type WhyStale } from './whole-answer.ts'
import type { Fetched, WholeFetch, WholeFetcher, WholeResult } from './whole-fetch.ts'
import type { WholeCacheOptions, WholeTrip } from './whole-request.ts'

interface StoredInstant {
  /** Its evaluation time. */
  readonly at: EpochMs
  readonly generatedAt: EpochMs
  readonly body: Buffer
  readonly headers: HeaderList
  readonly etag: string
  /** How long the database lets it be used. */
  readonly lifetimeMs: number
  readonly mustRevalidate: boolean
}

interface InstantFlight {
  readonly at: EpochMs
  readonly startedAt: EpochMs
  readonly fetch: WholeFetch
  members: number
}

/** Of all memory, for the last answers. */
const share = 1 / 32
const overhead = 512

export class Instants {
  readonly #options: WholeCacheOptions
  readonly #fetcher: WholeFetcher
  readonly #last: BoundedMap<string, StoredInstant>
  readonly #flights = new Map<string, InstantFlight[]>()

  constructor(options: WholeCacheOptions, fetcher: WholeFetcher) {
    this.#options = options
    this.#fetcher = fetcher
    const { budget } = options
    this.#last = new BoundedMap<string, StoredInstant>({
      maxWeight: budget.limit * share,
      weightOf: sizeOf,
      budget,
    })
  }

  serve(trip: WholeTrip, at: EpochMs): MaybePromise<Answer> {
    const { key, request } = trip
    const stored = this.#last.use(key)
    if (stored !== undefined && this.#isUsable(trip, stored, at)) return this.#hit(trip, stored, at)
    if (request.demands.onlyIfCached) return { kind: 'not-cached' }
    const joined = this.#join(trip, at)
    return this.#wait(trip, { flight: joined ?? this.#open(trip, at), isJoined: joined !== undefined, at })
  }

  last(key: string): Pick<StoredInstant, 'at' | 'generatedAt'> | undefined {
    return this.#last.get(key)
  }

  /** Never an answer for a later time than the requested one. */
  #isUsable({ request, demands }: WholeTrip, stored: StoredInstant, at: EpochMs): boolean {
    const { withinMs, terms } = request
    const ageMs = this.#options.clock.now() - stored.generatedAt
    if (stored.generatedAt < demands.freshFrom || ageMs >= stored.lifetimeMs) return false
    const laterMs = at - stored.at
    if (laterMs === 0 && ageMs < 1000 * terms.revalidateSeconds) return true
    return withinMs > 0 && laterMs >= 0 && laterMs <= withinMs && ageMs <= withinMs
  }

  #hit({ decision, request }: WholeTrip, stored: StoredInstant, at: EpochMs): Answer {
    const { withinMs, terms } = request
    const lifetimeMs = Math.min(stored.lifetimeMs, Math.max(withinMs, 1000 * terms.revalidateSeconds))
    const clocks = { generatedAt: stored.generatedAt, freshUntil: stored.generatedAt + lifetimeMs }
    noteHit(decision, clocks, this.#options.clock.now())
    if (at !== stored.at) decision.detail = laterDetail(at - stored.at)
    return { kind: 'object', ...stored }
  }

  #join({ key, request, demands }: WholeTrip, at: EpochMs): InstantFlight | undefined {
    const from = Math.max(demands.freshFrom, this.#options.clock.now() - request.withinMs)
    const flight = this.#flights.get(key)?.findLast((each) => {
      if (each.startedAt < demands.freshFrom) return false
      return each.at === at || (each.at < at && at - each.at <= request.withinMs && each.startedAt >= from)
    })
    if (flight !== undefined) flight.members++
    return flight
  }

  #open({ key, request }: WholeTrip, at: EpochMs): InstantFlight {
    const { plan, partition, target } = request
    const startedAt = this.#options.clock.now()
    const fetch = this.#fetcher.fetch({ plan, partition, target })
    const flight: InstantFlight = { at, startedAt, fetch, members: 1 }
    const flights = this.#flights.get(key) ?? []
    flights.push(flight)
    this.#flights.set(key, flights)
    void fetch.result.then((result) => {
      flights.splice(flights.indexOf(flight), 1)
      if (flights.length === 0) this.#flights.delete(key)
      if (result.kind === 'answer') this.#keep(key, at, result)
    })
    return flight
  }

  #keep(key: string, at: EpochMs, fetched: Fetched): void {
    const { body, headers, generatedAt, limits, forbidden, isComplete } = fetched
    const known = this.#last.get(key)
    if (!isComplete || forbidden !== undefined || (known !== undefined && known.at > at)) return
    const { budget, backend } = this.#options
    const size = sizeOf({ body })
    if (size > budget.limit * share) return
    this.#last.delete(key)
    // Never at the cost of buckets: an instant query is repeated anyway.
    if (budget.used + size > budget.limit) return
    this.#last.set(key, {
      ...{ at, generatedAt, body },
      headers: keptHeaders(headers, backend.capabilities),
      etag: etagOf(body),
      lifetimeMs: 1000 * limits.seconds,
      mustRevalidate: limits.mustRevalidate,
    })
  }

  async #wait(trip: WholeTrip, { flight, isJoined, at }: Taken): Promise<Answer> {
    const { client } = trip.request
    const { fetch } = flight
    let isOver = false
    client.onGone(() => {
      if (isOver) return
      isOver = true
      if (!isJoined) fetch.dropTarget()
      if (--flight.members === 0) fetch.cancel()
    })
    const first = await this.#fetcher.orInstead(fetch.result, client, () => {
      const stale = this.#fallback(trip, at)
      return stale && !(fetch.isStreaming && !isJoined) ? { stale } : undefined
    })
    isOver = true
    if (first === 'gone' || client.isGone) return { kind: 'client-gone' }
    if (!('stale' in first)) return this.#answer(trip, first, { flight, isJoined, at })
    if (!isJoined) fetch.dropTarget()
    return this.#stale(trip, first.stale, slow)
  }

  async #answer(trip: WholeTrip, result: WholeResult, taken: Taken): Promise<Answer> {
    const { decision } = trip
    const { flight, isJoined, at } = taken
    if (result.kind === 'answer') return this.#fetched(trip, result, taken)
    if (!isJoined && flight.fetch.isStreaming) return streamedAnswer(flight.fetch)
    // The client of that flight has disconnected: this request queries the database itself.
    if (result.kind === 'abandoned') return this.serve(trip, at)
    if (result.kind === 'broken') {
      const stored = this.#fallback(trip, at)
      if (stored !== undefined) return this.#stale(trip, stored, result)
    }
    return failedAnswer(decision, result)
  }

  async #fetched(trip: WholeTrip, result: Fetched, { flight, isJoined, at }: Taken): Promise<Answer> {
    const { decision, key } = trip
    const { forbidden, limits, generatedAt, headers, body } = result
    const isLate = this.#options.clock.now() >= generatedAt + 1000 * limits.seconds
    if (isJoined && forbidden !== undefined) return { kind: 'forward', ...forbidden }
    if (isJoined && isLate)
      return { kind: 'forward', reason: 'no_cache', detail: 'it took longer than the database lets it live' }
    decision.upstreamStatus = 200
    if (forbidden !== undefined) decision.unstored = forbidden.reason
    if (isJoined) decision.collapsed = true
    if (flight.at !== at) decision.detail = laterDetail(at - flight.at)
    if (!isJoined && flight.fetch.isStreaming) return streamedAnswer(flight.fetch)
    const kept = this.#last.get(key)
    if (kept?.body === body) return { kind: 'object', ...kept }
    return { kind: 'response', response: { status: 200, headers, body } }
  }

  /**
   * The answer to serve where the database fails: not evaluated too long before the requested time, and never after it.
   */
  #fallback({ key, request, demands }: WholeTrip, at: EpochMs): StoredInstant | undefined {
    const stored = this.#last.use(key)
    if (stored === undefined || stored.generatedAt < demands.usableFrom || stored.mustRevalidate)
      return undefined
    const mostMs = 1000 * (request.terms.revalidateSeconds + request.terms.staleIfErrorSeconds)
    const ageMs = this.#options.clock.now() - stored.generatedAt
    const laterMs = at - stored.at
    return ageMs < mostMs && laterMs >= 0 && laterMs < mostMs ? stored : undefined
  }

  #stale({ decision, request }: WholeTrip, stored: StoredInstant, why: WhyStale): Answer {
    const freshUntil = stored.generatedAt + 1000 * request.terms.revalidateSeconds
    return staleAnswer(decision, { ...stored, freshUntil }, { ...why, now: this.#options.clock.now() })
  }
}

interface Taken {
  readonly flight: InstantFlight
  readonly isJoined: boolean
  /** The requested time. */
  readonly at: EpochMs
}

const laterDetail = (ms: number): string => `instant.within: evaluated ${ms} ms before the requested time`

const sizeOf = ({ body }: Pick<StoredInstant, 'body'>): number => body.length + overhead
