/**
 * Serves a planned request: lookup → gaps → fetch → recompose → answer. Read `serve` from top to bottom; the functions
 * that it calls follow in the order of use. Fetching and writing back are in fill.ts, outages in stale.ts.
 */

import type { HeaderList, Plan } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import { type Coverage, cover } from '../core/coverage.ts'
import { inTime } from '../core/deadline.ts'
import { type Decision, resetDecision } from '../core/decision.ts'
import { countOf, type Interval, type Intervals, nothing, subtractAll } from '../core/interval.ts'
import { fetchedAtOf } from '../core/lifetime.ts'
import { clockOf, type Pane } from '../core/pane.ts'
import { haveSameFrame } from '../core/pane-join.ts'
import { readNear } from '../stores/peek.ts'
import type { Found, MaybePromise } from '../stores/store.ts'
import { type ExplainedRequest, type Explanation, explainPlan } from './explain/explain.ts'
import { GapFiller } from './fill.ts'
import type { FilledGaps } from './flight-results.ts'
import { wholeIn } from './flights.ts'
import { askedBy, gapsIn, lapsingIn, missOf } from './gaps.ts'
import { keptHeaders } from './kept-headers.ts'
import { KeyMemo } from './key-memo.ts'
import { Corrections } from './learning/corrections.ts'
import type { BackgroundCounts } from './learning/counts.ts'
import { Prober } from './learning/probes.ts'
import { Refresher } from './learning/refresh.ts'
import { Sampling } from './learning/sampling.ts'
import { coverParts } from './parts.ts'
import { Shadow, type ShadowRequest } from './shadow/shadow.ts'
import { newestOf, noteSighting, partsOf, readRuns, withOneFrame } from './stored.ts'
import { type Answer, type CacheRequest, type IntervalCacheOptions, policyOver, type Trip } from './trip.ts'
import { vouchedOver } from './witness.ts'

interface Lookup {
  readonly found: Found | undefined
  readonly coverage: Coverage
  /** The kept parts of partially requested buckets. */
  readonly parts: readonly Pane[]
  /** Their response headers, for requests without whole buckets. */
  readonly partHeaders: HeaderList
  /** Nothing where everything is fresh. */
  readonly gaps: Intervals
  /** Buckets that a query for them brings along. */
  readonly lapsing: Intervals
  /** Seconds since the oldest fresh bucket was fetched; undefined where none is fresh. */
  readonly ageSeconds: number | undefined
  /** Seconds until the first fresh bucket stops being so. */
  readonly ttlSeconds: number
}

export class IntervalCache {
  /** Fetches buckets of recently requested shapes twice, and learns from the differences. */
  readonly sampling: Sampling
  readonly #options: IntervalCacheOptions
  readonly #filler: GapFiller
  readonly #refresher: Refresher
  /** Where something is learned. */
  readonly #corrections: Corrections | undefined
  readonly #prober: Prober
  readonly #shadow: Shadow
  readonly #keys: KeyMemo

  constructor(options: IntervalCacheOptions) {
    this.#options = options
    this.#keys = new KeyMemo(options.name)
    this.#filler = new GapFiller(options)
    this.sampling = new Sampling(options, this.#filler)
    this.#refresher = new Refresher(options, this.#filler)
    this.#corrections = options.learning && new Corrections(options, options.learning)
    this.#prober = new Prober(options, this.#filler, this.#corrections)
    this.#shadow = new Shadow(options)
  }

  /** A full hit in a store of this process is answered at once. */
  serve(request: CacheRequest, decision: Decision): MaybePromise<Answer> {
    const trip = this.#begin(request, decision)
    const lookup = this.#lookup(trip)
    const isAtOnce = !(lookup instanceof Promise) && lookup !== 'failed' && lookup.gaps.length === 0
    return isAtOnce && !request.client.isGone ? this.#hit(trip, lookup) : this.#serve(trip, lookup)
  }

  async #serve(trip: Trip, first: MaybePromise<Lookup | 'failed'>): Promise<Answer> {
    const { request, decision } = trip
    for (let lookup = await first; ; lookup = await this.#lookup(trip)) {
      // The client may have disconnected during the lookup, and no event will report it: do not fetch for it.
      if (request.client.isGone) return { kind: 'client-gone' }
      if (lookup === 'failed') return { kind: 'forward', reason: 'store_failed' }
      if (lookup.gaps.length === 0) return this.#hit(trip, lookup)
      if (request.demands.onlyIfCached) return { kind: 'not-cached' }
      noteMiss(trip, lookup)
      if (this.#options.claims !== undefined) trip.newestSeen = newestIn(lookup)
      this.sampling.note(trip)
      const filled = await this.#filler.fill(trip, lookup.gaps, lookup.lapsing)
      if (filled !== 'again' && 'kind' in filled) return filled
      const answer = filled === 'again' ? 'again' : this.#compose(trip, lookup, filled)
      if (answer !== 'again') return answer
      resetDecision(decision)
    }
  }

  /** The database's own answer, whatever is stored; that is only compared with it, and brought up to date. */
  shadow(request: ShadowRequest, decision: Decision): Promise<Answer> {
    if (!request.plan.isVerbatim) return Promise.resolve(this.#shadow.passOn())
    const trip = this.#begin({ ...request, plan: withoutKeptParts(request.plan) }, decision)
    const lookup = (async () => this.#lookup(trip))()
    return this.#shadow.answer(trip, request.target, lookup)
  }

  /** Fetches under way. */
  get flights(): number {
    return this.#filler.flights.count
  }

  /** How queries ended that no client waited for. */
  get background(): BackgroundCounts {
    return { sample: this.#prober.samples, sentinel: this.#prober.sentinels, refresh: this.#refresher.counts }
  }

  /** Whether a query with this id of a client is in progress, for any client. */
  isAsking(queryId: string): boolean {
    return this.#filler.flights.has(queryId)
  }

  /** The decision of `serve`, without any effect. */
  explain(request: ExplainedRequest): Promise<Explanation> {
    return explainPlan(this.#options, request, this.#filler)
  }

  #begin(request: CacheRequest, decision: Decision): Trip {
    const { plan, identity } = request
    if (plan.exceptions !== undefined) decision.exceptions = plan.exceptions
    const key = this.#keys.keyOf(plan.shape, plan.grid, identity)
    noteSighting(this.#options.store, key)
    const policy = policyOver(this.#options, request, key)
    const maxStaleMs = request.maxStaleMs ?? this.#options.maxStaleMs
    const { learns } = request.policy ?? this.#options.policy
    const learning = learns && this.#corrections
    return { request, plan, key, decision, policy, maxStaleMs, learning }
  }

  /** The memory of this process is read first; a far tier is queried only for buckets that are not fresh there. */
  #lookup(trip: Trip): MaybePromise<Lookup | 'failed'> {
    const { clock, store } = this.#options
    const { key, plan, decision } = trip
    // A client that has all of an answer and repeats its request gets a hit, however late its answer is stored.
    const storing = this.#filler.storing(key)
    if (storing !== undefined) return storing.then(() => this.#lookup(trip))
    decision.key = key
    decision.buckets = countOf(askedBy(plan))
    const began = clock.elapsed()
    const near = this.#read(trip, (run) => readNear(store, key, run))
    const lookup =
      near instanceof Promise ? near.then((found) => this.#lookOn(trip, found)) : this.#lookOn(trip, near)
    const timed = <T>(looked: T): T => {
      decision.timings.lookup += clock.elapsed() - began
      return looked
    }
    return lookup instanceof Promise ? lookup.then(timed) : timed(lookup)
  }

  #lookOn(trip: Trip, near: Lookup | 'failed'): MaybePromise<Lookup | 'failed'> {
    const { store } = this.#options
    if (near === 'failed' || near.gaps.length === 0 || store.near === undefined) return near
    const stale = wholeIn(near.gaps, trip.plan.edges)
    // A flight of this node that brings all of it was preceded by such a look into the far tier.
    if (stale.length === 0 || this.#filler.isFetching(trip, near)) return near
    const far = this.#read(trip, (run) => store.read(trip.key, run, stale))
    return far instanceof Promise ? far.then((looked) => (looked === 'failed' ? near : looked)) : far
  }

  #read(
    trip: Trip,
    read: (run: Interval) => MaybePromise<Found | undefined>,
  ): MaybePromise<Lookup | 'failed'> {
    const { clock, storeTimeoutMs } = this.#options
    try {
      const found = inTime(readRuns(trip.plan.whole, read), clock, storeTimeoutMs)
      if (!(found instanceof Promise)) return this.#judge(trip, found)
      return found.then((late) => this.#judge(trip, late)).catch(() => 'failed')
    } catch {
      return 'failed'
    }
  }

  #judge(trip: Trip, read: Found | undefined): Lookup {
    const { key, plan, request, policy, frame, acceptFrom } = trip
    const found = read && withOneFrame(read, frame)
    const now = this.#options.clock.now()
    const freshAt = Math.min(trip.freshAt ?? now, now)
    trip.freshAt = freshAt
    const marks = this.#options.marks.marksFor(key, plan)
    const vouched = vouchedOver(this.#options, plan)
    const { notBefore } = request.demands
    const rules = { grid: plan.grid, policy, now, freshAt, notBefore, acceptFrom, marks, vouched }
    const { capabilities } = this.#options.backend
    const panes = found?.panes ?? []
    const coverage = cover(plan.whole, panes, rules)
    const kept = this.#filler.parts.find({ key, plan })
    const parts = coverParts(plan, kept, { rules, frame: frame ?? panes[0] })
    const oldestFresh = Math.min(
      coverage.oldestFresh,
      parts?.coverage.oldestFresh ?? Number.POSITIVE_INFINITY,
    )
    const freshUntil = Math.min(coverage.freshUntil, parts?.coverage.freshUntil ?? Number.POSITIVE_INFINITY)
    const lacking = { whole: plan.whole, edges: parts?.lacking }
    const gaps = gapsIn(lacking, coverage.runs, capabilities)
    return {
      found,
      coverage,
      parts: parts?.panes ?? [],
      partHeaders: kept?.headers ?? [],
      gaps,
      lapsing:
        gaps.length === 0
          ? nothing
          : lapsingIn(
              { whole: plan.whole, edges: kept === undefined ? plan.edges : undefined },
              { panes, rules },
              capabilities,
            ),
      ageSeconds: oldestFresh <= now ? Math.floor((now - oldestFresh) / 1000) : undefined,
      ttlSeconds: Math.max(0, Math.ceil((freshUntil - now) / 1000)),
    }
  }

  #hit(trip: Trip, lookup: Lookup): Answer {
    const { found, coverage, parts, ageSeconds, ttlSeconds } = lookup
    const { plan, decision } = trip
    decision.outcome = 'hit'
    if (ageSeconds !== undefined) decision.ageSeconds = ageSeconds
    decision.ttlSeconds = ttlSeconds
    const whole = partsOf(found?.panes ?? [], plan.whole)
    const panes = plan.edges === undefined ? whole : inOrder(whole, partsOf(parts, plan.edges.buckets))
    this.#refresher.answered(trip, coverage.settledUntil)
    this.#prober.answered(trip, panes, nothing)
    return this.#answer(plan, panes, found?.shape.headers ?? lookup.partHeaders)
  }

  /**
   * The panes that this request found and fetched are its answer, whatever marks came meanwhile: it began before them,
   * and a request after a mark neither finds these buckets nor waits for them. A second lookup could repeat for as long
   * as marks come.
   */
  #compose(trip: Trip, { found, coverage, parts }: Lookup, filled: FilledGaps): Answer | 'again' {
    const { plan } = trip
    // A query may have brought more than the gaps: also buckets that would lapse soon.
    const stored = partsOf(found?.panes ?? [], subtractAll(plan.whole, filled.panes))
    const kept = partsOf(parts, subtractAll(plan.edges?.buckets ?? nothing, filled.panes))
    const panes = inOrder(stored, kept, filled.panes)
    const frame = newestOf(filled.panes)
    if (!panes.every((pane) => haveSameFrame(pane, frame))) {
      // The database answers in another form than before: the stored buckets count as absent.
      trip.frame = frame
      return 'again'
    }
    this.#refresher.answered(trip, coverage.settledUntil)
    this.#prober.answered(trip, panes, filled.panes)
    const { backend } = this.#options
    const headers = keptHeaders(filled.headers, backend.capabilities)
    // Compressed answers are cached by their panes: an answer that may not be stored must not be cached there either.
    if (!filled.isStorable) return { kind: 'panes', headers, body: backend.recompose(plan, panes) }
    return this.#answer(plan, panes, headers)
  }

  #answer(plan: Plan, panes: readonly Pane[], headers: HeaderList): Answer {
    const body = this.#options.backend.recompose(plan, panes)
    // Elsewhere the answer also has parts that depend on the request as a whole, which are not in panes.
    const isFixed = plan.isVerbatim || plan.isFixedByPanes === true
    return isFixed ? { kind: 'panes', headers, body, panes } : { kind: 'panes', headers, body }
  }
}

const inOrder = (...panes: readonly (readonly Pane[])[]): readonly Pane[] =>
  panes.flat().sort((a, b) => a.from - b.from)

/** Shadow mode compares whole stored buckets only. */
const withoutKeptParts = (plan: Plan): Plan =>
  plan.edges?.isStorable ? { ...plan, edges: { buckets: plan.edges.buckets, parts: plan.edges.parts } } : plan

function noteMiss({ decision, request }: Trip, { coverage, gaps, ageSeconds }: Lookup): void {
  decision.gaps = gaps
  const { outcome, reason } = missOf(coverage.runs, gaps, request)
  decision.outcome = outcome
  decision.reason = reason
  if (ageSeconds !== undefined && decision.outcome === 'partial') decision.ageSeconds = ageSeconds
}

/** Of the buckets in the gaps. */
function newestIn({ found, gaps }: Lookup): EpochMs {
  let newest = Number.NEGATIVE_INFINITY
  for (const pane of partsOf(found?.panes ?? [], gaps)) {
    for (let bucket = pane.from; bucket < pane.to; bucket++) {
      const fetchedAt = fetchedAtOf(clockOf(pane, bucket))
      if (fetchedAt > newest) newest = fetchedAt
    }
  }
  return newest
}
