/**
 * What was decided about one request, and why. One record is filled on the way of a request and rendered as
 * response headers (and, later, as log line, metric and console row). Outcomes and reasons are closed lists:
 * they are metric labels and a documented table (docs/reference/outcomes.md is checked against them).
 */
import type { Interval, Intervals } from './interval.ts'
import type { Key } from './key.ts'

export const outcomes = ['hit', 'partial', 'miss', 'stale', 'bypass', 'refused', 'error'] as const
export type Outcome = (typeof outcomes)[number]

/** Why a query was sent to the database as it came: decided by a backend's parse or plan, or by the engine. */
export const bypassReasons = {
  not_a_query: 'not a range query: forwarded untouched',
  malformed_request:
    'parameters that the database may read differently from us (bad escapes, semicolons, odd content type)',
  missing_parameter: 'a required parameter is missing: the database explains it',
  invalid_parameter:
    'a time, step or range that the database refuses, or that is spelled in a way we do not read',
  too_many_buckets: 'more buckets than one request may have',
  unparseable_query: 'the query text was not understood by the parser',
  depends_on_range:
    'an expression whose value depends on the whole range: @ start(), @ end(), start(), end(), range(), step()',
  unsafe_offset: 'a negative or computed offset looks at data newer than its step',
  recent_at_modifier: 'an @ modifier that points to data which may still change',
  sorting: 'sort functions warn by range and never order a range answer',
  unnamed_range_selector:
    'a range function over several metric names: its whole-range error cannot be reproduced',
  unsafe_function: 'a function whose value is not known to be local to its step',
  limit: 'the limit parameter truncates the whole answer',
  stats: 'query statistics belong to one execution',
  no_time_grouping: 'no time buckets: granularity all or none, or SQL that is not grouped by time',
  irregular_granularity: 'a granularity whose buckets do not lie on a grid that we know',
  not_decomposable:
    'an answer that cannot be put together from parts: totals, subtotals, nested or joined data, lookups, rows not in time order',
  other_query_type:
    'a type of query whose answer has no time buckets (scan, search, timeBoundary and others)',
  other_encoding: 'an answer in another encoding than the plain one (Smile, indented JSON)',
  partial_results:
    'the client accepts, or asks about, answers that are not whole (returnPartialResults and others)',
  unknown_flavour: 'the server behind this API is not one whose answers are known to be decomposable',
  switched_off: 'caching is switched off for this database, or by a rule',
  shadow: 'answered by the database while the cache is only compared',
  no_store: 'the client, or the database, asked that the answer be not stored',
  unusable_answer: 'the database answered in a form that cannot be cut into buckets',
  answer_too_large: 'the answer exceeds the size that is kept in memory',
  memory_exhausted: 'the memory budget has no room for the answer in flight',
  store_failed: 'the store failed: the request went straight to the database',
} as const
export type BypassReason = keyof typeof bypassReasons

/** Why the database had to be asked although the query is eligible. */
export const missReasons = {
  absent: 'some buckets were never fetched, or are gone (evicted, or removed after a purge)',
  purged: 'some buckets are stored, but were purged or marked as changed since they were fetched',
  expired: 'some buckets were older than their TTL',
  edge: 'all whole buckets were fresh; a bucket of which only a part is asked for is never stored',
  revalidate: 'the client asked for fresher data than was stored (no-cache, max-age)',
} as const
export type MissReason = keyof typeof missReasons

export const staleReasons = {
  database_unreachable: 'no connection to the database, or it broke off',
  database_timeout: 'the database did not answer in time',
  database_error: 'the database answered with a server error',
  database_slow: 'the database is still being asked; what is known was served meanwhile',
} as const
export type StaleReason = keyof typeof staleReasons

export const refusalReasons = {
  overloaded: 'too many requests at once',
  request_too_large: 'the request body exceeds the limit',
  loop: 'the request has already passed through this Windowpane',
  only_if_cached: 'the client accepts only a stored answer and there is none',
  bad_request: 'the request is not HTTP that can be forwarded',
} as const
export type RefusalReason = keyof typeof refusalReasons

export const errorReasons = {
  database_unreachable: staleReasons.database_unreachable,
  database_timeout: staleReasons.database_timeout,
  database_error: staleReasons.database_error,
  database_refused: 'the database answered the query with a redirect or a client error',
  client_gone: 'the client closed the connection',
  cancelled: 'the client cancelled the query',
  internal: 'a fault in Windowpane itself',
} as const
export type ErrorReason = keyof typeof errorReasons

export type Reason = BypassReason | MissReason | StaleReason | RefusalReason | ErrorReason

/** Filled on the way of a request. Durations in milliseconds. */
export interface Decision {
  outcome: Outcome
  /** Of the question, once it is planned. */
  key?: Key
  reason?: Reason
  /** For people; never a metric label. */
  detail?: string
  /** Buckets in the window, and how many of them the database was asked for by this request. */
  buckets?: number
  asked?: number
  /** The buckets that were not in the store, whoever asked for them. */
  gaps?: Intervals
  /** Part or all of the answer came from a flight that another request had opened. */
  collapsed?: boolean
  stored?: boolean
  /** Status of the database's answer, where it was asked. */
  upstreamStatus?: number
  /** Seconds since the oldest stored bucket in the answer was fetched. */
  ageSeconds?: number
  /** Seconds until the first bucket of a hit stops being fresh; negative in a stale answer. */
  ttlSeconds?: number
  /** A stale answer that is not all that was asked for: the instants it does not have, ISO 8601, and how many. */
  missing?: string
  missingBuckets?: number
  /** From where to where it reaches. */
  known?: Interval
  readonly timings: { plan: number; lookup: number; fetch: number }
}

/** Forgets what an earlier try noted; only the key and the durations stay. */
export function resetDecision(decision: Decision): void {
  for (const name of Object.keys(decision)) {
    if (name !== 'timings' && name !== 'key') delete (decision as Partial<Decision>)[name as keyof Decision]
  }
  decision.outcome = 'error'
}

export const newDecision = (): Decision => ({ outcome: 'error', timings: { plan: 0, lookup: 0, fetch: 0 } })
