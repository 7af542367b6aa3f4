/** The result of a request from the flights it waited for: panes for its gaps, another answer, or another attempt. */
import type { HeaderList } from '../backends/backend.ts'
import { resetDecision } from '../core/decision.ts'
import type { Pane } from '../core/pane.ts'
import type { DatabaseFailure, FetchedPanes, FetchResult } from './fetch.ts'
import type { Flight, JoinedFlight } from './flights.ts'
import type { Forbidden } from './http/answer-terms.ts'
import { findStale, staleAnswerOf } from './stale.ts'
import { partsOf } from './stored.ts'
import type { Answer, IntervalCacheOptions, Trip } from './trip.ts'

/** After so many waits for other threads or nodes a request goes its own way. */
export const maxLooks = 3

/** Panes for all gaps in time order; or another answer; or `again`: the failure was caused by another request. */
export type Filled = FilledGaps | Answer | 'again'

export interface FilledGaps {
  readonly panes: readonly Pane[]
  readonly headers: HeaderList
  /** Whether all of it may be stored. */
  readonly isStorable: boolean
}

/** The combined result of the flights that a request waited for. */
interface Landed {
  readonly taken: readonly JoinedFlight[]
  /** The request's own flight, if it has one. */
  readonly own: Flight | undefined
  /** One for each of `taken`. */
  readonly results: readonly FetchResult[]
}

/** Splices the results of the flights; the first flight that failed decides otherwise. */
export function filledBy(
  options: IntervalCacheOptions,
  trip: Trip,
  { taken, own, results }: Landed,
): Filled | Promise<Filled> {
  const panes: Pane[] = []
  let headers: HeaderList = []
  let isStorable = true
  for (let i = 0; i < results.length; i++) {
    const result = results[i]!
    const { flight, brings } = taken[i]!
    if (result.kind !== 'panes') return filledWithout(options, trip, { flight, result })
    const forbidden = flight === own ? undefined : whyNotShared(options, result)
    // The database forbids giving its answer to another request: that request queries it itself.
    if (forbidden !== undefined) return { kind: 'forward', ...forbidden }
    isStorable &&= result.storable
    panes.push(...partsOf(result.panes, brings))
    headers = result.headers
  }
  trip.decision.upstreamStatus = 200
  return { panes: panes.sort((a, b) => a.from - b.from), headers, isStorable }
}

/** An answer that was stale on arrival, by the database's own headers, is only for the request that fetched it. */
function whyNotShared(
  { clock }: IntervalCacheOptions,
  { forbidden, freshUntil }: FetchedPanes,
): Forbidden | undefined {
  if (forbidden !== undefined || clock.now() < freshUntil) return forbidden
  return { reason: 'no_cache', detail: 'it took longer than the database lets it live' }
}

interface FailedFlight {
  readonly flight: Flight
  readonly result: Exclude<FetchResult, FetchedPanes>
}

async function filledWithout(
  options: IntervalCacheOptions,
  trip: Trip,
  { flight, result }: FailedFlight,
): Promise<Filled> {
  // A failure that another request's terms or disconnect caused is not this request's: it tries again.
  if (result.kind === 'abandoned') {
    if (result.look !== undefined) {
      trip.looks = result.look.isInVain ? maxLooks : (trip.looks ?? 0) + 1
      trip.acceptFrom = result.look.acceptFrom
    }
    return 'again'
  }
  if (result.kind === 'unusable') return { kind: 'forward', reason: result.reason, detail: result.detail }
  if (result.kind === 'broken') {
    if (isCausedByAnother(options, trip, { flight, result })) return 'again'
    const usable = await findStale(options, trip)
    if (usable === undefined) return broken(trip, result)
    return staleAnswerOf(options, trip, { ...usable, why: result })
  }
  const { status } = result.response
  if (options.backend.capabilities.strictStatuses?.includes(status) === true)
    return { kind: 'forward', reason: 'incomplete_data', detail: `status ${status}` }
  resetDecision(trip.decision)
  trip.decision.outcome = 'error'
  trip.decision.reason = 'database_refused'
  trip.decision.upstreamStatus = status
  return { kind: 'response', response: result.response }
}

/** Whether the database's error answers the terms of another request, or its cancellation by the id it gave. */
function isCausedByAnother(
  { backend }: IntervalCacheOptions,
  { plan }: Trip,
  { flight, result: { response } }: { readonly flight: Flight; readonly result: DatabaseFailure },
): boolean {
  if (response === undefined) return false
  if (flight.terms !== plan.terms) return true
  if (flight.queryId === undefined || flight.queryId === plan.queryId) return false
  return backend.cancellation?.isCancellation(response.status, response.body) === true
}

function broken({ decision }: Trip, failure: DatabaseFailure): Answer {
  // An error that was too long to keep: the client gets it from the database itself.
  const isUnkept = failure.reason === 'database_error' && failure.response === undefined
  if (isUnkept) return { kind: 'forward', reason: 'unusable_answer', detail: failure.detail }
  resetDecision(decision)
  decision.outcome = failure.reason === 'queue_full' ? 'refused' : 'error'
  decision.reason = failure.reason
  decision.detail = failure.detail
  if (failure.response !== undefined) decision.upstreamStatus = failure.response.status
  return { kind: 'failure', failure }
}
