/**
 * Settled buckets are refetched in the background shortly before they lapse, so that no client waits for a whole
 * window. Only requests cause it: a shape without requests is not refreshed.
 *
 * A request starts the refresh where the buckets would lapse before the next request for the shape could be answered
 * from them: the usual time between two requests, and a head start of the usual fetch time, drawn once per answer
 * (XFetch). The draw spreads the refreshes of many nodes; within one node, flights and claims ensure that one is sent.
 *
 * Where buckets lapse on epochs, a copy that was fetched before the end of the epoch would lapse with it. The refresh
 * is then sent when the epoch ends, and clients that come at the same moment join it.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import { type EpochMs, pause } from '../../core/clock.ts'
import type { LookupRules } from '../../core/coverage.ts'
import { expiryOf } from '../../core/expiry.ts'
import { endOf } from '../../core/grid.ts'
import { countOf, hullOf, type Interval, type Intervals, nothing, uniteAll } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import { fetchedAtOf, hasFloorTtl, lifetimeMsOf } from '../../core/lifetime.ts'
import { markedRun } from '../../core/mark.ts'
import { clockOf, type Pane } from '../../core/pane.ts'
import { readNear } from '../../stores/peek.ts'
import type { LearnedEvent } from '../../ttl/learned/learning.ts'
import type { GapFiller } from '../fill.ts'
import { partsOf, readRuns } from '../stored.ts'
import { backgroundTrip, type IntervalCacheOptions, type Trip } from '../trip.ts'
import { noProbes, type ProbeCounts } from './counts.ts'

/** Requests are noted, and refreshes considered, from this long before a lapse on; later lapses are ignored. */
const maxAheadMs = 10 * 60_000
/** Buckets with shorter TTLs are fetched with the tail, by the client that needs them. */
const minTtlMs = 5 * 60_000
/** The next request may come this much later than usual. */
const lateness = 1.25
/**
 * Buckets that lapse within this part of their life are refreshed together with the due ones, but none within more than
 * `maxShare`.
 */
const alongShare = 0.05
const maxShare = 0.25
/** Where a query takes several intervals, fewer lapsing buckets are fetched with the tail at no cost worth mentioning. */
const minOfSeveral = 16
/** A shape is not considered again for so long after it was, and for longer where the database did not answer. */
const pauseMs = 5000
const failedPauseMs = 60_000
/** While no refresh of a shape was timed. */
const usualFetchMs = 1000
const maxShapes = 1000

interface ShapeTraffic {
  lastAt: EpochMs
  /** Mean time between two requests; 0 while there was one. */
  spacingMs: number
  fetchMs: number
  isRefreshing: boolean
  notBefore: EpochMs
}

export class Refresher {
  readonly counts: ProbeCounts = { ...noProbes }
  readonly #options: IntervalCacheOptions
  readonly #filler: Pick<GapFiller, 'inBackground'>
  readonly #shapes = new BoundedMap<Key, ShapeTraffic>({ maxEntries: maxShapes })

  constructor(options: IntervalCacheOptions, filler: Pick<GapFiller, 'inBackground'>) {
    this.#options = options
    this.#filler = filler
  }

  /** Called for every answer from stored buckets; `lapsesAt`: when the first settled one of them lapses. */
  answered(trip: Trip, lapsesAt: EpochMs): void {
    const { clock } = this.#options
    const now = clock.now()
    if (lapsesAt - now > maxAheadMs || this.#options.refreshesAhead === false) return
    const traffic = this.#noted(trip.key, now)
    if (traffic.isRefreshing || now < traffic.notBefore || trip.request.demands.onlyIfCached) return
    const leadMs = lateness * traffic.spacingMs - traffic.fetchMs * Math.log(1 - clock.random())
    if (now + leadMs < lapsesAt) return
    traffic.isRefreshing = true
    clock.after(0, () => void this.#refresh(trip, traffic, { since: now, leadMs }))
  }

  #noted(key: Key, now: EpochMs): ShapeTraffic {
    let traffic = this.#shapes.get(key)
    if (traffic === undefined) {
      traffic = { lastAt: now, spacingMs: 0, fetchMs: usualFetchMs, isRefreshing: false, notBefore: 0 }
      this.#shapes.set(key, traffic)
    } else {
      const spacingMs = now - traffic.lastAt
      traffic.lastAt = now
      // A longer pause is ignored: it is not the request rate of a dashboard that is being viewed.
      if (spacingMs <= maxAheadMs / 2) {
        traffic.spacingMs += (spacingMs - traffic.spacingMs) * (traffic.spacingMs === 0 ? 1 : 0.2)
      }
    }
    return traffic
  }

  async #refresh(trip: Trip, traffic: ShapeTraffic, when: { since: EpochMs; leadMs: number }): Promise<void> {
    const { clock } = this.#options
    traffic.notBefore = when.since + pauseMs
    try {
      const { intervals, laterAt } = await this.#lapsing(trip, when)
      await this.#fetch(trip, traffic, intervals)
      if (laterAt < Number.POSITIVE_INFINITY) {
        await pause(clock, laterAt - clock.now())
        await this.#fetch(trip, traffic, (await this.#lapsing(trip, when)).intervals)
      }
    } catch {
      // A store that fails: the next client that needs the buckets fetches them.
    } finally {
      traffic.isRefreshing = false
    }
  }

  async #fetch(trip: Trip, traffic: ShapeTraffic, intervals: Intervals): Promise<void> {
    if (intervals.length === 0) return
    const { clock } = this.#options
    const began = clock.elapsed()
    let isChanged = false
    const observe = (event: LearnedEvent): void => {
      isChanged ||= event.kind === 'refetch' && event.changed.includes(1)
      trip.learning?.observe(event, trip)
    }
    const result = await this.#filler.inBackground(backgroundTrip(trip, { observe }), intervals)
    if (result.kind === 'abandoned') return
    traffic.fetchMs = clock.elapsed() - began
    const isFetched = result.kind === 'panes' && result.storable
    this.counts[isFetched ? (isChanged ? 'changed' : 'same') : 'failed']++
    if (!isFetched) traffic.notBefore = clock.now() + failedPauseMs
  }

  async #lapsing(trip: Trip, when: { since: EpochMs; leadMs: number }): Promise<Lapsing> {
    const { store, backend } = this.#options
    const { plan, key } = trip
    const found = await readRuns(plan.whole, (run) => readNear(store, key, run))
    const marks = this.#options.marks.marksFor(key, plan)
    const rules = { grid: plan.grid, policy: trip.policy, marks, now: this.#options.clock.now(), ...when }
    const { intervals, laterAt } = lapsingIn(partsOf(found?.panes ?? [], plan.whole), rules)
    if (!backend.capabilities.severalIntervals) {
      return { intervals: intervals.length === 0 ? nothing : [hullOf(intervals)], laterAt }
    }
    return { intervals: countOf(intervals) < minOfSeveral ? nothing : intervals, laterAt }
  }
}

interface Lapsing {
  readonly intervals: Intervals
  /** When those lapse that only a later fetch can prolong; infinite without any. */
  readonly laterAt: EpochMs
}

interface LapsingRules extends Pick<LookupRules, 'grid' | 'policy' | 'now' | 'marks'> {
  /** Buckets that had lapsed before this were not fresh in the answer. */
  readonly since: EpochMs
  readonly leadMs: number
}

/** The settled buckets that lapse soon. */
function lapsingIn(panes: readonly Pane[], rules: LapsingRules): Lapsing {
  const { now, grid, policy, leadMs } = rules
  const lapsing: Interval[] = []
  let laterAt = Number.POSITIVE_INFINITY
  for (const pane of panes) {
    for (let bucket = pane.from; bucket < pane.to; bucket++) {
      const lapsesAt = lapseIfSoon(pane, bucket, rules)
      if (lapsesAt === undefined) continue
      if (lapsesAt < expiryOf(now, bucket, { grid, policy })) lapsing.push({ from: bucket, to: bucket + 1 })
      else if (lapsesAt <= now + leadMs) laterAt = Math.min(laterAt, lapsesAt + 1)
    }
  }
  return { intervals: uniteAll(lapsing, nothing), laterAt }
}

function lapseIfSoon(pane: Pane, bucket: number, rules: LapsingRules): EpochMs | undefined {
  const { grid, policy, now, marks, since, leadMs } = rules
  const clock = clockOf(pane, bucket)
  const fetchedAt = fetchedAtOf(clock)
  const ageMs = fetchedAt - endOf(grid, bucket)
  if (!(clock <= now) || ageMs < policy.settledAgeMs || hasFloorTtl(clock)) return undefined
  if (Math.min(policy.ttl(ageMs), lifetimeMsOf(clock)) < minTtlMs) return undefined
  if (marks.length > 0 && markedRun(bucket, clock, marks).mark !== undefined) return undefined
  const lapsesAt = expiryOf(clock, bucket, rules)
  const lifeMs = lapsesAt - fetchedAt
  const aheadMs = Math.max(alongShare * lifeMs, Math.min(leadMs, maxShare * lifeMs))
  return lapsesAt >= since && lapsesAt - now <= aheadMs ? lapsesAt : undefined
}
