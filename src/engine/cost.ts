/**
 * The cost of a query to the client that causes it. The leader of a flight is charged an estimate before the query is
 * sent, and the actual cost once it is over. Requests that wait for a flight, and background queries, are charged
 * nothing.
 */
import { type Grid, startOf } from '../core/grid.ts'
import { countOf, type Intervals } from '../core/interval.ts'
import { andThen, type MaybePromise } from '../core/maybe.ts'
import type { Pane } from '../core/pane.ts'
import type { Refusal } from '../limits/limit.ts'
import type { FetchResult } from './fetch.ts'
import type { Intake } from './intake.ts'
import { findStale, staleAnswerOf } from './stale.ts'
import type { Answer, IntervalCacheOptions, Trip } from './trip.ts'

/** Whole numbers. */
export interface QueryCost {
  /** Length of the time range, at least 1. */
  readonly seconds: number
  /** Buckets times series; before the query is sent the number of series is not known and counts as 1. */
  readonly points: number
}

/** The quota of the client of a request. */
export interface CostMeter {
  /** Called before a query is sent. Never rejects. */
  charge(estimate: QueryCost): MaybePromise<Charge | OverQuota>
}

/** The tokens taken for one query. One of its methods is called, once. */
export interface Charge {
  /** The query succeeded. */
  settle(actual: QueryCost): void
  /** The query failed, or was cancelled because no client waited for it any longer. */
  refund(): void
}

export interface OverQuota {
  readonly refusal: Refusal
  /** Whether a stale answer is preferred to the refusal. */
  readonly servesStale: boolean
}

/** A query that is ready to be sent. */
export interface PendingQuery {
  readonly fetch: Pick<Intake, 'isOver' | 'result' | 'cancel'>
  send(): void
}

/** Sends a query once it is paid for. Where it cannot be, the fetch is cancelled, and its members try for themselves. */
export function sendWhenPaid(trip: Trip, intervals: Intervals, query: PendingQuery): void {
  const { meter } = trip.request
  if (meter === undefined) {
    query.send()
    return
  }
  const estimate = { seconds: secondsOf(trip.plan.grid, intervals), points: countOf(intervals) }
  void andThen(meter.charge(estimate), (charged) => proceedCharged(trip, charged, query))
}

function proceedCharged(trip: Trip, charged: Charge | OverQuota, { fetch, send }: PendingQuery): void {
  if ('refusal' in charged) {
    if (!fetch.isOver) trip.overQuota = charged
    fetch.cancel()
    return
  }
  void fetch.result.then((result) => settle(charged, result, trip.plan.grid))
  if (!fetch.isOver) send()
}

function settle(charge: Charge, result: FetchResult, grid: Grid): void {
  if (result.kind === 'panes')
    charge.settle({ seconds: secondsOf(grid, result.panes), points: pointsIn(result.panes) })
  // An answer that cannot be kept has cost the database as much: the estimate stands.
  else if (result.kind !== 'unusable') charge.refund()
}

/** The answer to a request whose query was refused; `again` where everything is fresh meanwhile. */
export async function overQuotaAnswer(
  options: IntervalCacheOptions,
  trip: Trip,
  { refusal, servesStale }: OverQuota,
): Promise<Answer | 'again'> {
  delete trip.overQuota
  const usable = servesStale ? await findStale(options, trip) : undefined
  if (usable === undefined) return { kind: 'over-quota', refusal }
  const exceeded = refusal.limits.filter(({ isExceeded }) => isExceeded).map(({ limit }) => limit.name)
  const why = { reason: 'over_quota', detail: `limit ${exceeded.join(', ')}` } as const
  return staleAnswerOf(options, trip, { ...usable, why })
}

const secondsOf = (grid: Grid, intervals: Intervals): number => {
  let ms = 0
  for (const { from, to } of intervals) ms += startOf(grid, to) - startOf(grid, from)
  return Math.max(1, Math.ceil(ms / 1000))
}

/** Counts each series from its first to its last bucket in a pane, because that is known without looking at every bucket. */
function pointsIn(panes: readonly Pane[]): number {
  let points = 0
  for (const { body, from, to } of panes) {
    const buckets = to - from
    for (let column = 0; column < body.columns; column++) {
      const spans = body.columnsAt + column * body.stride + 3
      for (let lane = 0; lane < body.lanes; lane++)
        points += Math.min(buckets, body.u32[spans + 3 * lane + 1]!)
    }
  }
  return points
}
