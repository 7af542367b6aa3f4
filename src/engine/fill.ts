/** Getting a gap: from flights under way, by a flight of its own, or both; and what to do when that fails. */
import type { HeaderList } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import { resetDecision } from '../core/decision.ts'
import { type Interval, lengthOf } from '../core/interval.ts'
import type { Pane } from '../core/pane.ts'
import { type DatabaseFailure, Fetch, type FetchedPane, type FetchResult } from './fetch.ts'
import { type Departure, type Flight, Flights, type Wish } from './flights.ts'
import { marksOver } from './marks.ts'
import { serveStale } from './stale.ts'
import type { Answer, IntervalCacheOptions, Trip } from './trip.ts'
import { writeBack } from './write-back.ts'

/** Panes for the whole gap in time order; or another answer; or `again`: the failure was somebody else's. */
export type Filled = FilledGap | Answer | 'again'

export interface FilledGap {
  readonly panes: readonly Pane[]
  readonly headers: HeaderList
}

/** What filling a gap would take. */
export interface Preview {
  readonly joined: readonly (Interval & { readonly startedAt: EpochMs })[]
  /** What would be asked for by a query of its own. */
  readonly rest: Interval | undefined
}

/** The flights of one request; `fetch` is its own, if it has one. */
interface Crossing {
  readonly flights: readonly Flight[]
  readonly fetch: Fetch | undefined
}

/** A query that is ready to be sent. */
interface Errand {
  readonly fetch: Fetch
  send(): void
}

/** After so many waits for other threads a request goes its own way. */
const maxLooks = 3

export class GapFiller {
  readonly #options: IntervalCacheOptions
  readonly #flights = new Flights()
  #isDatabaseDown = false

  constructor(options: IntervalCacheOptions) {
    this.#options = options
  }

  async fill(trip: Trip, gap: Interval): Promise<Filled> {
    const began = this.#options.clock.elapsed()
    const { joined, rest } = this.#join(trip, gap)
    const own = rest === undefined ? undefined : this.#open(trip, rest)
    trip.decision.collapsed = joined.length > 0
    trip.decision.asked = rest === undefined ? 0 : lengthOf(rest)
    const flights = own === undefined ? joined : [...joined, own.flight]
    const results = await this.#wait(trip, { flights, fetch: own?.fetch })
    trip.decision.timings.fetch += this.#options.clock.elapsed() - began
    return Array.isArray(results) ? this.#judge(trip, { flights, own: own?.flight }, results) : results
  }

  /** Fetches under way. */
  get flights(): number {
    return this.#flights.count
  }

  /** What `fill` would wait for and ask for now. A membership that is given back at once changes nothing. */
  preview(trip: Pick<Trip, 'key' | 'request'>, gap: Interval): Preview {
    const { joined, rest } = this.#join(trip, gap)
    for (const flight of joined) flight.leave()
    return { joined: joined.map(({ interval, startedAt }) => ({ ...interval, startedAt })), rest }
  }

  /** The flights that bring some of the gap, and what of it they do not bring. */
  #join(
    { key, request }: Pick<Trip, 'key' | 'request'>,
    gap: Interval,
  ): { joined: readonly Flight[]; rest: Interval | undefined } {
    const wish = this.#wishOf({ key, request })
    const first = this.#options.coalescing ? this.#flights.join(key, gap, wish) : undefined
    if (first === undefined) return { joined: [], rest: gap }
    const { flight, rest } = first
    const second = rest && this.#flights.joinForRest(key, rest, wish)
    return second === undefined ? { joined: [flight], rest } : { joined: [flight, second], rest: undefined }
  }

  #wishOf({ key, request }: Pick<Trip, 'key' | 'request'>): Wish {
    return {
      notBefore: request.demands.notBefore,
      marks: marksOver(this.#options, key, request.plan),
    }
  }

  /** Sends the narrowed query. A full miss is streamed to the client while it is split. */
  #open(trip: Trip, interval: Interval): { flight: Flight; fetch: Fetch } {
    const { backend, clock, budget, maxAnswerBytes, upstream } = this.#options
    const { plan } = trip
    const fetchedAt = clock.now()
    const isFullMiss = lengthOf(interval) === lengthOf(plan.window)
    const target = isFullMiss ? trip.request.target : undefined
    const sink = backend.decompose(plan, interval)
    let isSent = false
    let isTold = false
    const land = (result: FetchResult) => {
      // An answer that was given up may break off later: that is still one query.
      if (isSent && !isTold) this.#options.onFetch?.({ result, interval, grid: plan.grid })
      isTold = true
      return this.#land(trip, result)
    }
    const fetch = new Fetch({ fetchedAt, sink, budget, maxAnswerBytes, land, ...(target && { target }) })
    const departure = { key: trip.key, interval, startedAt: fetchedAt, terms: plan.terms }
    const flight = this.#flights.open(departure, (onCancel) => {
      onCancel(() => fetch.cancel())
      const send = () => {
        isSent = true
        const accept = target?.encoding ?? upstream.preferredEncoding
        fetch.sent(upstream.send(backend.narrow(plan, interval), accept, fetch))
      }
      this.#whenClaimed(trip, departure, { fetch, send })
      return fetch.result
    })
    return { flight, fetch }
  }

  /** Where other threads fetch too, one of them fetches; the others look again once that has landed. */
  #whenClaimed(trip: Trip, departure: Departure, { fetch, send }: Errand): void {
    const { claims } = this.#options
    if (claims === undefined) {
      send()
      return
    }
    const { looks = 0 } = trip
    const claim = claims.claim({
      ...{ key: departure.key, interval: departure.interval, startedAt: departure.startedAt },
      ...this.#wishOf(trip),
      isImpatient: looks >= maxLooks,
    })
    void claim.verdict.then((verdict) => {
      if (fetch.isOver) return
      if (verdict === 'go') send()
      else {
        trip.looks = looks + 1
        fetch.cancel()
      }
    })
    // What was fetched has been sent to the keeper by then: whoever waits finds it.
    void fetch.result.then(() => claim.release())
  }

  /** Before anybody hears of a flight's end, its buckets are stored: no herd between answer and write-back. */
  async #land(trip: Trip, result: FetchResult): Promise<void> {
    // A database that answers with an error is not down: it may be one query's own fault.
    if (result.kind !== 'abandoned') {
      this.#isDatabaseDown = result.kind === 'broken' && result.reason !== 'database_error'
    }
    if (result.kind === 'pane') trip.decision.stored = await writeBack(this.#options, trip, result)
  }

  /** Waits for all flights, but not longer than its patience where a stale answer is at hand. */
  async #wait(trip: Trip, crossing: Crossing): Promise<FetchResult[] | Answer | 'again'> {
    const { flights, fetch } = crossing
    let isOver = false
    const over = Promise.all(flights.map((flight) => flight.result)).then((results) => {
      isOver = true
      return results
    })
    trip.request.client.onGone(() => {
      fetch?.dropTarget()
      if (!isOver) for (const flight of flights) flight.leave()
    })
    const first = await this.#orPatience(trip, crossing, over)
    if (!Array.isArray(first) || !fetch?.isStreaming) return first
    await fetch.delivered
    return { kind: 'streamed' }
  }

  #orPatience(
    trip: Trip,
    { fetch }: Crossing,
    over: Promise<FetchResult[]>,
  ): Promise<FetchResult[] | Answer | 'again'> {
    const { clock, patienceMs } = this.#options
    return new Promise((resolve, reject) => {
      const timer = clock.after(this.#isDatabaseDown ? patienceMs.down : patienceMs.slow, () => {
        if (fetch?.isStreaming) return
        const slow = { reason: 'database_slow', detail: 'still waiting' } as const
        const stale = serveStale(this.#options, trip, slow)
        if (stale === undefined) return
        // What still comes is for the store: the client is given this answer.
        fetch?.dropTarget()
        resolve(stale)
      })
      over.then(resolve, reject).finally(() => timer.cancel())
    })
  }

  #judge(
    trip: Trip,
    { flights, own }: { flights: readonly Flight[]; own: Flight | undefined },
    results: readonly FetchResult[],
  ): Filled {
    const panes: Pane[] = []
    let headers: HeaderList = []
    for (let i = 0; i < results.length; i++) {
      const result = results[i]!
      if (result.kind !== 'pane') return this.#failed(trip, flights[i]!, result)
      // The database forbade that its answer be given to others: they ask for themselves.
      if (!result.shareable && flights[i] !== own) return { kind: 'forward', reason: 'no_store' }
      panes.push(result.pane)
      headers = result.headers
    }
    trip.decision.upstreamStatus = 200
    return { panes: panes.sort((a, b) => a.from - b.from), headers }
  }

  #failed(trip: Trip, flight: Flight, result: Exclude<FetchResult, FetchedPane>): Filled {
    // What another request's own terms or departure caused is not this one's failure: it asks again.
    if (result.kind === 'abandoned') return 'again'
    const isOnOtherTerms = flight.terms !== trip.plan.terms
    if (isOnOtherTerms && result.kind === 'broken' && result.response !== undefined) return 'again'
    if (result.kind === 'unusable') return { kind: 'forward', reason: result.reason, detail: result.detail }
    if (result.kind === 'broken') return serveStale(this.#options, trip, result) ?? broken(trip, result)
    resetDecision(trip.decision)
    trip.decision.outcome = 'error'
    trip.decision.reason = 'database_refused'
    trip.decision.upstreamStatus = result.response.status
    return { kind: 'response', response: result.response }
  }
}

function broken({ decision }: Trip, failure: DatabaseFailure): Answer {
  // An error that was too long to keep: the client gets it from the database itself.
  const isUnkept = failure.reason === 'database_error' && failure.response === undefined
  if (isUnkept) return { kind: 'forward', reason: 'unusable_answer', detail: failure.detail }
  resetDecision(decision)
  decision.outcome = 'error'
  decision.reason = failure.reason
  decision.detail = failure.detail
  if (failure.response !== undefined) decision.upstreamStatus = failure.response.status
  return { kind: 'failure', failure }
}
