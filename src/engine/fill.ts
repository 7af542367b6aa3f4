/** Fills the gaps of a request: from flights in progress, by a flight of its own, or both. */
import { BoundedMap } from '../core/bounded-map.ts'
import type { EpochMs } from '../core/clock.ts'
import { countOf, type Intervals, nothing, subtractAll, uniteAll } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import { Backlog } from './backlog.ts'
import type { FlightEnd } from './claims.ts'
import { overQuotaAnswer, type PendingQuery, sendWhenPaid } from './cost.ts'
import { type FetchResult, isDownAfter, type UnusableAnswer } from './fetch.ts'
import { type Filled, filledBy, maxLooks } from './flight-results.ts'
import { waitForFlights } from './flight-wait.ts'
import {
  type Flight,
  type FlightSpec,
  Flights,
  type JoinedFlight,
  type Requirements,
  wholeIn,
} from './flights.ts'
import { askedBy } from './gaps.ts'
import type { Forbidden } from './http/answer-terms.ts'
import { Intake } from './intake.ts'
import { PartMemory } from './parts.ts'
import type { CacheRequest, IntervalCacheOptions, Trip } from './trip.ts'
import { keepParts, termsFor, writeBack } from './write-back.ts'

/** The queries and flights that filling gaps would need. */
export interface Preview {
  readonly joined: readonly Flight[]
  /** The intervals of a query of its own. */
  readonly asked: Intervals
}

interface KeyedRequest {
  readonly key: Key
  readonly request: Pick<CacheRequest, 'plan' | 'demands'>
}

const maxForbidden = 1_000

/** How long a narrowed query that is wider than the client's own is not tried again. */
const unusableMs = 600_000

interface UnusableSince {
  readonly result: UnusableAnswer
  readonly at: EpochMs
}

/** Queries of this thread that no client waits for, at once. */
const maxInBackground = 2

export class GapFiller {
  /** Parts of buckets that were fetched. */
  readonly parts: PartMemory
  readonly flights = new Flights()
  readonly #options: IntervalCacheOptions
  readonly #backlog: Backlog
  /** Responses that their clients have and that are not stored yet. */
  readonly #unstored = new Map<Intake, Key>()
  /** Keys whose last answer the database forbade to share: waiting for another such answer would be for nothing. */
  readonly #forbidden = new BoundedMap<Key, Forbidden>({ maxEntries: maxForbidden })
  /** Keys whose last answer was unusable, of plans whose narrowed query is wider than the client's. */
  readonly #unusable = new BoundedMap<Key, UnusableSince>({ maxEntries: maxForbidden })
  #isDatabaseDown = false
  #inBackground = 0

  constructor(options: IntervalCacheOptions) {
    this.#options = options
    this.parts = new PartMemory(options.budget)
    this.#backlog = options.backlog ?? new Backlog(options.clock)
  }

  /** `lapsing`: buckets that are fetched together with gaps, if any gap is fetched. */
  async fill(trip: Trip, gaps: Intervals, lapsing: Intervals): Promise<Filled> {
    const began = this.#options.clock.elapsed()
    trip.waitsSince ??= began
    const unusable = trip.plan.isVerbatim ? undefined : this.#knownUnusable(trip.key)
    if (unusable !== undefined) return unusable
    const { joined, rest } = this.#join(trip, gaps, lapsing)
    const asked = askedFor(rest, lapsing, joined)
    const own = asked.length === 0 ? undefined : this.#open(trip, asked)
    trip.decision.collapsed = joined.length > 0
    trip.decision.asked = countOf(asked)
    const taken = own === undefined ? joined : [...joined, { flight: own.flight, brings: asked }]
    const { slow, down } = this.#options.patienceMs
    const patienceMs = (this.#isDatabaseDown ? down : slow) - (began - trip.waitsSince)
    const results = await waitForFlights(this.#options, trip, { taken, fetch: own?.fetch, patienceMs })
    trip.decision.timings.fetch += this.#options.clock.elapsed() - began
    if (trip.overQuota !== undefined) return overQuotaAnswer(this.#options, trip, trip.overQuota)
    return Array.isArray(results)
      ? filledBy(this.#options, trip, { taken, own: own?.flight, results })
      : results
  }

  /**
   * Fetches buckets that no client waits for; see `backgroundTrip`. Clients that need them meanwhile join the flight, and it
   * lands like any other. `abandoned` where nothing was sent: enough queries are in the background already, the database is
   * down, its answer could not be stored, or another thread or node is fetching the same and this is no probe.
   */
  async inBackground(trip: Trip, intervals: Intervals): Promise<FetchResult> {
    const isPointless = this.#isDatabaseDown || this.#forbidden.has(trip.key)
    if (isPointless || this.#inBackground >= maxInBackground) return { kind: 'abandoned' }
    const { joined, rest } = this.#join(trip, intervals, nothing)
    const [only] = joined
    if (rest.length === 0 && joined.length === 1) return only!.flight.result
    for (const { flight } of joined) flight.leave()
    this.#inBackground++
    try {
      return await this.#open(trip, intervals).flight.result
    } finally {
      this.#inBackground--
    }
  }

  /** Resolves when every response of this key that a client has is stored; undefined where there is none to wait for. */
  storing(key: Key): Promise<unknown> | undefined {
    if (this.#unstored.size === 0) return undefined
    const pending = [...this.#unstored].filter(([, of]) => of === key)
    return pending.length === 0 ? undefined : Promise.all(pending.map(([fetch]) => fetch.result))
  }

  /** Why the last answer that was fetched for a key was not stored, where the database forbade it. */
  whyUnstored(key: Key): Forbidden | undefined {
    return this.#forbidden.get(key)
  }

  /** Whether flights under way bring all of the gaps. */
  isFetching(trip: Trip, { gaps, lapsing }: { gaps: Intervals; lapsing: Intervals }): boolean {
    return this.flights.count > 0 && this.preview(trip, gaps, lapsing).asked.length === 0
  }

  /**
   * The flights that `fill` would join and the query that it would send now. A membership that is released at once has
   * no effect.
   */
  preview(keyed: KeyedRequest, gaps: Intervals, lapsing: Intervals): Preview {
    const { joined, rest } = this.#join(keyed, gaps, lapsing)
    for (const { flight } of joined) flight.leave()
    return { joined: joined.map(({ flight }) => flight), asked: askedFor(rest, lapsing, joined) }
  }

  /** The flights that bring some of the gaps, and the rest of the gaps. */
  #join(
    { key, request }: KeyedRequest,
    gaps: Intervals,
    lapsing: Intervals,
  ): { joined: readonly JoinedFlight[]; rest: Intervals } {
    const along = countOf(subtractAll(lapsing, gaps))
    const requirements = { ...this.#requirementsOf({ key, request }), along }
    const mayJoin = this.#options.coalescing && !this.#forbidden.has(key)
    const first = mayJoin ? this.flights.join(key, gaps, requirements) : undefined
    if (first === undefined) return { joined: [], rest: gaps }
    const { rest } = first
    const second = rest.length === 0 ? undefined : this.flights.joinForRest(key, rest, requirements)
    if (second === undefined) return { joined: [first], rest }
    return { joined: [first, { flight: second, brings: rest }], rest: [] }
  }

  #requirementsOf({ key, request }: KeyedRequest): Omit<Requirements, 'along'> {
    return {
      notBefore: request.demands.notBefore,
      marks: this.#options.marks.marksFor(key, request.plan),
      edges: request.plan.edges,
      takesSeveral: this.#options.backend.capabilities.severalIntervals,
    }
  }

  /** Sends the narrowed query. A full miss is streamed to the client while it is split. */
  #open(trip: Trip, intervals: Intervals): { flight: Flight; fetch: Intake } {
    const { backend, clock, budget, maxAnswerBytes, upstream } = this.#options
    const { plan } = trip
    const fetchedAt = clock.now()
    const isFullMiss = plan.isVerbatim && countOf(intervals) === countOf(askedBy(plan))
    const target = isFullMiss ? trip.request.target : undefined
    let sentAt: number | undefined
    const land = async (result: FetchResult) => {
      try {
        if (sentAt !== undefined) {
          const durationMs = clock.elapsed() - sentAt
          this.#options.onFetch?.({ result, intervals, grid: plan.grid, durationMs })
        }
        await this.#land(trip, result)
      } catch (error) {
        trip.decision.detail ??= `not stored: ${error}`
      }
      // Whatever fails above: lookups of this key wait for it.
      this.#unstored.delete(fetch)
    }
    const fetch = new Intake({
      ...{ fetchedAt, budget, maxAnswerBytes, backlog: this.#backlog, target, land },
      termsOf: termsFor(trip, backend, fetchedAt),
      newSink: () => backend.decompose(plan, intervals),
      strictStatuses: backend.capabilities.strictStatuses,
      onDelivered: () => void this.#unstored.set(fetch, trip.key),
    })
    const { edges, terms, queryId } = plan
    const spec = { key: trip.key, intervals, edges, startedAt: fetchedAt, terms, queryId }
    const send = () => {
      const accept = target?.encoding ?? upstream.preferredEncoding
      try {
        const narrowed = backend.narrow(plan, intervals)
        sentAt = clock.elapsed()
        fetch.sent(upstream.send(narrowed, accept, fetch))
      } catch (error) {
        // Thrown on, it would end the process where the query was claimed or paid for first.
        fetch.giveUp('unusable_answer', String(error))
      }
    }
    const sendPaid = () => sendWhenPaid(trip, intervals, { fetch, send })
    this.#whenClaimed(trip, spec, { fetch, send: sendPaid })
    return { flight: this.flights.open(spec, fetch), fetch }
  }

  /** Where other threads or nodes fetch too, one of them fetches; the others look again once that has landed. */
  #whenClaimed(trip: Trip, spec: FlightSpec, { fetch, send }: PendingQuery): void {
    const { claims } = this.#options
    const isStorable = wholeIn(spec.intervals, spec.edges).length > 0 && !this.#forbidden.has(spec.key)
    if (claims === undefined || !isStorable) {
      send()
      return
    }
    const claim = claims.claim({
      ...{ key: spec.key, intervals: spec.intervals, startedAt: spec.startedAt },
      ...this.#requirementsOf(trip),
      along: 0,
      newestSeen: trip.newestSeen ?? Number.NEGATIVE_INFINITY,
      isImpatient: trip.isProbe === true || (trip.looks ?? 0) >= maxLooks,
    })
    void claim.verdict.then((verdict) => {
      if (fetch.isOver) return
      if (verdict === 'go') send()
      else fetch.cancel(verdict)
    })
    // The fetched buckets are in the store of this process by then.
    void fetch.result.then((result) => claim.release(flightEndOf(result)))
  }

  /** Forwards the client's own request while the key is known to give unusable answers. */
  #knownUnusable(key: Key): Filled | undefined {
    const known = this.#unusable.get(key)
    if (known === undefined) return undefined
    const { reason, detail } = known.result
    if (this.#options.clock.now() < known.at + unusableMs) return { kind: 'forward', reason, detail }
    this.#unusable.delete(key)
    return undefined
  }

  /** A flight's buckets are stored before its end is reported: no thundering herd between answer and write-back. */
  async #land(trip: Trip, result: FetchResult): Promise<void> {
    this.#isDatabaseDown = isDownAfter(result, this.#isDatabaseDown)
    if (result.kind === 'unusable' && !trip.plan.isVerbatim)
      this.#unusable.set(trip.key, { result, at: this.#options.clock.now() })
    if (result.kind !== 'panes') return
    if (result.forbidden === undefined) this.#forbidden.delete(trip.key)
    else this.#forbidden.set(trip.key, result.forbidden)
    const hasKept = keepParts(this.#options, trip, { memory: this.parts, fetched: result })
    trip.decision.stored = (await writeBack(this.#options, trip, result)) || hasKept
  }
}

function flightEndOf(result: FetchResult): FlightEnd {
  if (result.kind === 'abandoned') return 'abandoned'
  return result.kind === 'panes' && result.storable ? 'stored' : 'unstored'
}

/** The gaps that no flight brings; and with them buckets that will lapse soon, unless a flight that is waited for brings them anyway. */
function askedFor(rest: Intervals, lapsing: Intervals, joined: readonly JoinedFlight[]): Intervals {
  if (rest.length === 0) return nothing
  const alone = joined.reduce((left, { flight }) => subtractAll(left, flight.intervals), lapsing)
  return alone.length === 0 ? rest : uniteAll(rest, alone)
}
