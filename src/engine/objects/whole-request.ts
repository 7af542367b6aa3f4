/** A request for an answer that is cached as a whole: its content, its demands, and the notes about its result. */
import type { Backend } from '../../backends/backend.ts'
import type { WholePlan } from '../../backends/whole-answers.ts'
import type { Budget } from '../../core/budget.ts'
import type { Clock, EpochMs } from '../../core/clock.ts'
import { type Decision, type MissReason, resetDecision, type StaleReason } from '../../core/decision.ts'
import type { Key } from '../../core/key.ts'
import type { Backlog } from '../backlog.ts'
import type { DatabaseFailure } from '../fetch.ts'
import type { Identity } from '../http/identity.ts'
import type { BackendMarks } from '../marks.ts'
import type { StreamTarget, Upstream } from '../ports.ts'
import type { Answer, Client, Demands, FetchOver } from '../trip.ts'
import type { Witness } from '../witness.ts'
import type { ObjectCache, ObjectDemands, ObjectTerms } from './objects.ts'
import type { WholeResult } from './whole-fetch.ts'
import type { MarkedAt } from './whole-marks.ts'

export interface WholeCacheOptions {
  /** The name of this database: two of one kind share no objects. */
  readonly name: string
  readonly backend: Backend
  readonly objects: ObjectCache
  readonly upstream: Upstream
  readonly clock: Clock
  readonly budget: Budget
  readonly maxAnswerBytes: number
  /** How long a request that could be answered stale waits for a database that is slow, and one that is down. */
  readonly patienceMs: { readonly slow: number; readonly down: number }
  /** Purges and changes; none by default. */
  readonly marks?: Pick<BackendMarks, 'marksAbout'> | undefined
  /** Where the database's data is watched. */
  readonly witness?: Pick<Witness, 'vouchedForObject'> | undefined
  /** Shared by all databases of a process; one of its own by default. */
  readonly backlog?: Backlog | undefined
  /** Hears of every query to the database when it is over. Must not throw. */
  readonly onFetch?: ((fetched: FetchOver) => void) | undefined
}

export interface WholeRequest {
  readonly plan: WholePlan
  readonly terms: Required<ObjectTerms>
  /** Instead of a time: the share of answers that may be out of date. How long they are fresh is learned. */
  readonly staleness?: number | undefined
  readonly identity: string
  readonly partition: Identity
  readonly demands: Demands
  /** How far the time of an instant query's answer may lie behind the requested one. */
  readonly withinMs: number
  /** Is given a long answer while it arrives. */
  readonly target?: StreamTarget
  readonly client: Client
}

export interface WholeTrip {
  readonly request: WholeRequest
  readonly key: Key
  readonly decision: Decision
  readonly marked: MarkedAt
  readonly demands: ObjectDemands & { readonly freshFrom: EpochMs; readonly usableFrom: EpochMs }
}

/** Marks concern objects generated at or before them. A client that demands fresh data gets no stale answer. */
export const demandsOf = (
  { changedAt, purgedAt }: MarkedAt,
  { notBefore }: Demands,
): WholeTrip['demands'] => ({
  freshFrom: Math.max(notBefore, changedAt + 1),
  usableFrom: Math.max(notBefore, purgedAt + 1),
})

/** Why a database had to be queried. `known`: an older version is stored. */
export function missReason(
  { request, marked }: Pick<WholeTrip, 'marked'> & { readonly request: Pick<WholeRequest, 'demands'> },
  known: boolean,
): MissReason {
  if (request.demands.notBefore > Number.NEGATIVE_INFINITY) return 'revalidate'
  if (marked.changedAt > Number.NEGATIVE_INFINITY && known) return 'purged'
  return known ? 'expired' : 'absent'
}

interface Clocks {
  readonly generatedAt: EpochMs
  readonly freshUntil: EpochMs
}

/** Seconds, truncated towards zero; negative where the answer is not fresh. */
export function noteHit(decision: Decision, { generatedAt, freshUntil }: Clocks, now: EpochMs): void {
  delete decision.reason
  decision.outcome = 'hit'
  decision.ageSeconds = Math.max(0, Math.floor((now - generatedAt) / 1000))
  decision.ttlSeconds = Math.trunc((freshUntil - now) / 1000) || 0
}

export function noteStale(
  decision: Decision,
  clocks: Clocks & { readonly now: EpochMs },
  why: { readonly reason: StaleReason; readonly detail: string },
): void {
  resetDecision(decision)
  noteHit(decision, clocks, clocks.now)
  decision.outcome = 'stale'
  decision.reason = why.reason
  decision.detail = why.detail
}

/**
 * Clients can cancel their queries by the ids that they gave them. Other requests that waited for the answer then query
 * the database themselves.
 */
export const isCancelled = ({ cancellation }: Backend, result: WholeResult | undefined): boolean =>
  result?.kind === 'broken' &&
  result.response !== undefined &&
  cancellation?.isCancellation(result.response.status, result.response.body) === true

/** The answer where the database failed and nothing stored may be served instead. */
export function brokenAnswer(decision: Decision, failure: DatabaseFailure): Answer {
  // An error that was too long to keep: the client gets it from the database itself.
  const isUnkept = failure.reason === 'database_error' && failure.response === undefined
  if (isUnkept) return { kind: 'forward', reason: 'unusable_answer', detail: failure.detail }
  resetDecision(decision)
  decision.reason = failure.reason
  decision.detail = failure.detail
  if (failure.response !== undefined) decision.upstreamStatus = failure.response.status
  return { kind: 'failure', failure }
}

/** The database's own answer that the request is wrong. */
export function refusedAnswer(
  decision: Decision,
  response: Extract<WholeResult, { kind: 'refused' }>['response'],
): Answer {
  resetDecision(decision)
  decision.reason = 'database_refused'
  decision.upstreamStatus = response.status
  return { kind: 'response', response }
}

export const slow = { reason: 'database_slow', detail: 'still waiting' } as const

interface Patience {
  readonly clock: Clock
  readonly patienceMs: number
  readonly client: Client
}

/**
 * Resolves as `pending` does; or with the result of `instead` after `patienceMs`, unless that is undefined; or when the
 * client has disconnected.
 */
export function orInstead<T, S>(
  pending: Promise<T>,
  { clock, patienceMs, client }: Patience,
  instead: () => S | undefined | Promise<S | undefined>,
): Promise<T | S | 'gone'> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(patienceMs, async () => {
      const other = await Promise.resolve(instead()).catch(() => undefined)
      if (other !== undefined) resolve(other)
    })
    client.onGone(() => resolve('gone'))
    pending.then(resolve, reject).finally(() => timer.cancel())
  })
}
