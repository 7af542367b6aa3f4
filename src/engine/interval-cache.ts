/**
 * The way of a planned request: lookup → gap → flight → fetch → recompose → answer, write-back on the way.
 * Read `serve` from top to bottom; everything it calls stands below it in the order of use.
 */
import type { Backend, HeaderList, Plan, Recomposed } from '../backends/backend.ts'
import type { Budget } from '../core/budget.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import { type Coverage, countStates, cover, gapOf } from '../core/coverage.ts'
import type { BypassReason, Decision } from '../core/decision.ts'
import { bucketAt, startOf } from '../core/grid.ts'
import { contains, type Interval, lengthOf } from '../core/interval.ts'
import { type Key, keyOf } from '../core/key.ts'
import { filledUntil, type Pane, slice } from '../core/pane.ts'
import type { Found, ShapeRecord, Store } from '../stores/store.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import {
  type DatabaseFailure,
  Fetch,
  type FetchedPane,
  type FetchResult,
  type WholeResponse,
} from './fetch.ts'
import { type Flight, Flights } from './flights.ts'
import { keptHeaders } from './kept-headers.ts'
import type { StreamTarget, Upstream } from './ports.ts'
import { staleAnswer } from './stale.ts'

export interface IntervalCacheOptions {
  readonly backend: Backend
  readonly store: Store
  readonly policy: TtlPolicy
  readonly upstream: Upstream
  readonly clock: Clock
  readonly budget: Budget
  readonly maxAnswerBytes: number
  /** How long after a bucket's TTL it may be served when the database does not answer. */
  readonly maxStaleMs: number
  /** How long a request that could be answered stale waits for a database that is slow, and one that is down. */
  readonly patienceMs: { readonly slow: number; readonly down: number }
  /** Off only to measure what it is worth. */
  readonly coalescing: boolean
}

export interface CacheRequest {
  readonly plan: Plan
  readonly identity: string
  /** What the client demands of stored answers (request Cache-Control). */
  readonly demands: Demands
  /** Where a full miss is streamed to; without one the answer is returned whole. */
  readonly target?: StreamTarget
  readonly client: Client
}

/** Whoever waits for the answer. */
export interface Client {
  /** True once the connection was closed before the answer was complete. */
  readonly isGone: boolean
  /** Calls back when it is gone. */
  onGone(callback: () => void): void
}

export interface Demands {
  /** Only buckets fetched at or after this instant will do. */
  readonly notBefore: EpochMs
  readonly onlyIfCached: boolean
}

export type Answer =
  | { readonly kind: 'panes'; readonly headers: HeaderList; readonly body: Recomposed }
  | { readonly kind: 'response'; readonly response: WholeResponse }
  | { readonly kind: 'failure'; readonly failure: DatabaseFailure }
  | { readonly kind: 'streamed' }
  | { readonly kind: 'forward'; readonly reason: BypassReason; readonly detail?: string }
  | { readonly kind: 'not-cached' }
  | { readonly kind: 'client-gone' }

/** What one request carries from step to step. */
interface Trip {
  readonly request: CacheRequest
  readonly plan: Plan
  readonly key: Key
  readonly decision: Decision
}

interface Lookup {
  readonly found: Found | undefined
  readonly coverage: Coverage
  readonly gap: Interval | undefined
  readonly now: EpochMs
}

/** Panes for the whole gap, in time order, or why there are none. */
type Filled = { readonly panes: readonly Pane[]; readonly headers: HeaderList } | Answer | 'again'

export class IntervalCache {
  readonly #options: IntervalCacheOptions
  readonly #flights = new Flights()
  #isDatabaseDown = false

  constructor(options: IntervalCacheOptions) {
    this.#options = options
  }

  async serve(request: CacheRequest, decision: Decision): Promise<Answer> {
    const { plan, identity } = request
    const key = keyOf({ backend: this.#options.backend.name, identity, shape: plan.shape, grid: plan.grid })
    const trip: Trip = { request, plan, key, decision }
    decision.buckets = lengthOf(plan.window)
    for (;;) {
      const lookup = await this.#lookup(trip)
      if (lookup === 'failed') return { kind: 'forward', reason: 'store_failed' }
      if (lookup.gap === undefined) return this.#hit(trip, lookup)
      if (request.demands.onlyIfCached) return { kind: 'not-cached' }
      this.#noteMiss(trip, lookup, lookup.gap)
      const filled = await this.#fill(trip, lookup, lookup.gap)
      if (filled === 'again' && !request.client.isGone) continue
      if (filled === 'again') return { kind: 'client-gone' }
      if ('kind' in filled) return filled
      return this.#compose(trip, lookup, filled)
    }
  }

  async #lookup({ key, plan, request, decision }: Trip): Promise<Lookup | 'failed'> {
    const { clock, store, policy } = this.#options
    const began = clock.elapsed()
    let found: Found | undefined
    try {
      const pending = store.read(key, plan.window)
      found = pending instanceof Promise ? await pending : pending
    } catch {
      return 'failed'
    }
    const now = clock.now()
    const rules = { grid: plan.grid, policy, now, notBefore: request.demands.notBefore }
    const coverage = cover(plan.window, found?.panes ?? [], rules)
    decision.timings.lookup += clock.elapsed() - began
    return { found, coverage, gap: gapOf(coverage.runs), now }
  }

  #hit({ plan, decision }: Trip, { found, coverage, now }: Lookup): Answer {
    decision.outcome = 'hit'
    decision.ageSeconds = Math.max(0, Math.floor((now - coverage.oldestFresh) / 1000))
    decision.ttlSeconds = Math.ceil((coverage.freshUntil - now) / 1000)
    const body = this.#options.backend.recompose(plan, inOrder(found!.panes, plan.window))
    return { kind: 'panes', headers: found!.shape.headers, body }
  }

  #noteMiss({ decision, request }: Trip, { coverage, now }: Lookup, gap: Interval): void {
    const counts = countStates(coverage.runs)
    const { notBefore } = request.demands
    decision.outcome = lengthOf(gap) === decision.buckets ? 'miss' : 'partial'
    decision.reason =
      counts.absent > 0 ? 'absent' : notBefore > Number.NEGATIVE_INFINITY ? 'revalidate' : 'expired'
    if (coverage.oldestFresh <= now) {
      decision.ageSeconds = Math.max(0, Math.floor((now - coverage.oldestFresh) / 1000))
    }
  }

  /** Gets the gap: from a flight under way, by a flight of its own, or both; the rest of a joined one is its own. */
  async #fill(trip: Trip, lookup: Lookup, gap: Interval): Promise<Filled> {
    const began = this.#options.clock.elapsed()
    const joined = this.#options.coalescing
      ? this.#flights.join(trip.key, gap, trip.request.demands.notBefore)
      : undefined
    const rest = joined === undefined ? gap : joined.rest
    const isFullMiss = rest !== undefined && lengthOf(rest) === lengthOf(trip.plan.window)
    const own = rest === undefined ? undefined : this.#open(trip, rest, isFullMiss)
    trip.decision.collapsed = joined !== undefined
    trip.decision.asked = rest === undefined ? 0 : lengthOf(rest)
    const flights = [joined?.flight, own?.flight].filter((flight) => flight !== undefined)
    const results = await this.#wait(trip, { flights, fetch: own?.fetch, lookup })
    trip.decision.timings.fetch += this.#options.clock.elapsed() - began
    if (!Array.isArray(results)) return results
    return this.#judge(trip, flights, results)
  }

  #open(trip: Trip, interval: Interval, isFullMiss: boolean): { flight: Flight; fetch: Fetch } {
    const { backend, clock, budget, maxAnswerBytes, upstream } = this.#options
    const { plan } = trip
    const fetchedAt = clock.now()
    const target = isFullMiss ? trip.request.target : undefined
    const sink = backend.decompose(plan, interval)
    const fetch = new Fetch({ fetchedAt, sink, budget, maxAnswerBytes, ...(target && { target }) })
    const departure = { key: trip.key, interval, startedAt: fetchedAt, terms: plan.terms }
    const flight = this.#flights.open(departure, (onCancel) => {
      onCancel(() => fetch.cancel())
      const accept = target?.encoding ?? upstream.preferredEncoding
      fetch.sent(upstream.send(backend.narrow(plan, interval), accept, fetch))
      return fetch.result.then((result) => this.#land(trip, result))
    })
    return { flight, fetch }
  }

  /** Before anybody hears of a flight's end, its buckets are stored: no herd between answer and write-back. */
  async #land(trip: Trip, result: FetchResult): Promise<FetchResult> {
    if (result.kind !== 'abandoned') this.#isDatabaseDown = result.kind === 'broken'
    if (result.kind !== 'pane' || !result.storable) return result
    try {
      trip.decision.stored = await this.#writeBack(trip, result)
    } catch {
      // A store that fails costs the next request a fetch; it never costs this one its answer.
      trip.decision.stored = false
    }
    return result
  }

  async #writeBack({ key, plan, request }: Trip, fetched: FetchedPane): Promise<boolean> {
    const { store, backend } = this.#options
    const shape: ShapeRecord = {
      backend: backend.name,
      text: plan.shape,
      sources: plan.sources,
      grid: plan.grid,
      identity: request.identity,
      headers: keptHeaders(fetched.headers),
    }
    const pane = this.#withoutUnsettledEnd(plan, fetched.pane)
    return pane.from < pane.to && (await store.write(key, { pane, shape }))
  }

  /** Trailing empty buckets that are not settled may only be late: they are not stored. */
  #withoutUnsettledEnd({ grid }: Plan, pane: Pane): Pane {
    const fetchedAt = pane.body.f64[pane.body.clocksAt]!
    const settledUntil =
      bucketAt(grid, fetchedAt - this.#options.policy.settledAgeMs) + (grid.kind === 'point' ? 1 : 0)
    return slice(pane, { from: pane.from, to: Math.max(filledUntil(pane), settledUntil) })
  }

  /** Waits for all flights, but not longer than its patience where a stale answer is at hand. */
  async #wait(
    trip: Trip,
    trial: { flights: readonly Flight[]; fetch: Fetch | undefined; lookup: Lookup },
  ): Promise<FetchResult[] | Answer> {
    const { flights, fetch } = trial
    let isOver = false
    const over = Promise.all(flights.map((flight) => flight.result)).then((results) => {
      isOver = true
      return results
    })
    const leave = () => {
      fetch?.dropTarget()
      if (!isOver) for (const flight of flights) flight.leave()
    }
    trip.request.client.onGone(leave)
    const first = await this.#orPatience(trip, trial, over)
    if (first === 'impatient') return this.#stale(trip, { reason: 'database_slow', detail: 'still waiting' })!
    if (fetch?.isStreaming) {
      await fetch.delivered
      return { kind: 'streamed' }
    }
    return first
  }

  #orPatience(
    trip: Trip,
    { fetch }: { fetch: Fetch | undefined },
    over: Promise<FetchResult[]>,
  ): Promise<FetchResult[] | 'impatient'> {
    const { clock, patienceMs } = this.#options
    const patience = this.#isDatabaseDown ? patienceMs.down : patienceMs.slow
    return new Promise((resolve, reject) => {
      const timer = clock.after(patience, () => {
        if (!fetch?.isStreaming && this.#stalePanes(trip) !== undefined) resolve('impatient')
      })
      over.then(resolve, reject).finally(() => timer.cancel())
    })
  }

  #judge(trip: Trip, flights: readonly Flight[], results: readonly FetchResult[]): Filled {
    const panes: Pane[] = []
    let headers: HeaderList = []
    for (let i = 0; i < results.length; i++) {
      const result = results[i]!
      if (result.kind === 'pane') {
        panes.push(result.pane)
        headers = result.headers
        continue
      }
      return this.#failed(trip, flights[i]!, result)
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
    if (result.kind === 'refused') {
      trip.decision.outcome = 'error'
      trip.decision.reason = 'database_refused'
      trip.decision.upstreamStatus = result.response.status
      return { kind: 'response', response: result.response }
    }
    return this.#stale(trip, result) ?? this.#broken(trip, result)
  }

  #broken({ decision }: Trip, failure: DatabaseFailure): Answer {
    decision.outcome = 'error'
    decision.reason = failure.reason === 'database_slow' ? 'database_timeout' : failure.reason
    decision.detail = failure.detail
    if (failure.response !== undefined) decision.upstreamStatus = failure.response.status
    return { kind: 'failure', failure }
  }

  /** Only the memory of this process is asked: it holds whatever was served lately. */
  #stalePanes({ key, plan, request }: Trip) {
    const { store, clock, policy, maxStaleMs } = this.#options
    if (request.demands.notBefore > Number.NEGATIVE_INFINITY) return undefined
    const found = store.read(key, plan.window)
    if (found === undefined || found instanceof Promise) return undefined
    const panes = inOrder(found.panes, plan.window)
    const rules = { grid: plan.grid, policy, now: clock.now(), maxStaleMs }
    const answer = staleAnswer(plan.window, panes, rules)
    return answer === undefined ? undefined : { found, panes, answer }
  }

  #stale(trip: Trip, failure: { reason: DatabaseFailure['reason']; detail: string }): Answer | undefined {
    const stale = this.#stalePanes(trip)
    if (stale === undefined) return undefined
    const { decision, plan } = trip
    const { usable, staleForMs, oldestClock } = stale.answer
    decision.outcome = 'stale'
    decision.reason = failure.reason
    decision.detail = failure.detail
    decision.ageSeconds = Math.floor((this.#options.clock.now() - oldestClock) / 1000)
    decision.ttlSeconds = -Math.ceil(staleForMs / 1000)
    const warnings = [staleWarning(plan, usable, failure.reason)]
    if (usable.to < plan.window.to) decision.missing = missingRange(plan, usable.to)
    const panes = inOrder(stale.panes, usable)
    const body = this.#options.backend.recompose(plan, panes, { warnings })
    return { kind: 'panes', headers: stale.found.shape.headers, body }
  }

  #compose(
    { plan }: Trip,
    { found, gap }: Lookup,
    filled: { panes: readonly Pane[]; headers: HeaderList },
  ): Answer {
    const stored = found?.panes ?? []
    const panes = [
      ...inOrder(stored, { from: plan.window.from, to: gap!.from }),
      ...inOrder(filled.panes, gap!),
      ...inOrder(stored, { from: gap!.to, to: plan.window.to }),
    ]
    const body = this.#options.backend.recompose(plan, panes)
    return { kind: 'panes', headers: keptHeaders(filled.headers), body }
  }
}

/** The parts of panes that lie in an interval, clipped so that no bucket is taken twice. */
function inOrder(panes: readonly Pane[], interval: Interval): readonly Pane[] {
  if (panes.length === 1 && contains(interval, panes[0]!)) return panes
  const parts: Pane[] = []
  let from = interval.from
  for (const pane of panes) {
    const part = slice(pane, { from, to: interval.to })
    if (part.from >= part.to) continue
    parts.push(part)
    from = part.to
  }
  return parts
}

const iso = (instant: EpochMs): string => new Date(instant).toISOString()

const missingRange = ({ grid, window }: Plan, from: number): string =>
  `${iso(startOf(grid, from))}/${iso(startOf(grid, window.to - 1))}`

function staleWarning(plan: Plan, usable: Interval, reason: DatabaseFailure['reason']): string {
  const what = reason === 'database_slow' ? 'is slow' : 'does not answer'
  const end = usable.to < plan.window.to ? `, and nothing is known of ${missingRange(plan, usable.to)}` : ''
  return `windowpane: the database ${what}; this answer is stale${end}`
}
