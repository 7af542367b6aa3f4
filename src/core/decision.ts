/**
 * The decision about one request, and its reason. One record is filled while a request is processed and rendered as
 * response headers, log line, metrics and span. Outcomes and reasons come from fixed lists: they are metric labels and
 * a documented table (docs/reference/outcomes.md is checked against them).
 */
import type { Interval, Intervals } from './interval.ts'
import type { Key } from './key.ts'

export const outcomes = ['hit', 'partial', 'miss', 'stale', 'bypass', 'refused', 'error'] as const
export type Outcome = (typeof outcomes)[number]

/**
 * The text of a reason: its meaning (docs/reference/outcomes.md), and the remedy for an operator (`windowpane doctor`).
 */
export interface ReasonWords {
  readonly meaning: string
  readonly remedy: string
}

const lookAt = (reason: string): string => `windowpane tail --reason ${reason} shows the client's requests.`

/**
 * Bypass reasons that any database may have. Reasons of single databases are declared in their folders;
 * backends/kinds.ts has the full list.
 */
export const planningReasons = {
  not_a_range_query: {
    meaning:
      'neither a query over a time range nor one whose answer is cached as a whole (pages, writes, unknown paths): forwarded untouched',
    remedy:
      'Nothing, unless it is a read that many repeat: objects.paths caches further paths; where objects are off, or in shadow mode, nothing is cached as a whole.',
  },
  malformed_request: {
    meaning:
      'parameters that the database may read differently from us (bad escapes, semicolons, odd content type)',
    remedy: lookAt('malformed_request'),
  },
  missing_parameter: {
    meaning: 'a required parameter is missing: the database explains it',
    remedy: lookAt('missing_parameter'),
  },
  invalid_parameter: {
    meaning: 'a time, step or range that the database refuses, or that is spelled in a way we do not read',
    remedy: lookAt('invalid_parameter'),
  },
  too_many_buckets: {
    meaning: 'more buckets than one request may have',
    remedy: 'Use a larger step, or raise limits.maxBuckets.',
  },
  unparseable_query: {
    meaning: 'the query text was not understood by the parser',
    remedy: 'Check the query; syntax that is newer than this version is forwarded.',
  },
} as const satisfies Readonly<Record<string, ReasonWords>>
export type PlanningReason = keyof typeof planningReasons

/** Why a request was bypassed by the proxy or the engine, whatever the database. */
export const servingReasons = {
  unknown_flavour: {
    meaning: 'the server behind this API is not one whose answers are known to be decomposable',
    remedy: 'windowpane check --connect shows which server answers.',
  },
  switched_off: {
    meaning: 'caching is switched off for this database, or by a rule',
    remedy: 'windowpane mode <backend> on, or look for rules with bypass: true or mode: off.',
  },
  shadow: {
    meaning: 'answered by the database while the cache is only compared',
    remedy: 'windowpane shadow report shows whether it is safe to switch on.',
  },
  no_store: {
    meaning: 'the client or the database forbids storing the answer (no-store, no-transform)',
    remedy: 'Find out which client sends Cache-Control: no-store, or whether the database does.',
  },
  no_cache: {
    meaning:
      "the database's answer may not be reused without revalidation (no-cache, max-age=0, s-maxage=0, Expires in the past)",
    remedy: 'Have the database, or the gateway in front of it, send no such header with query answers.',
  },
  private: {
    meaning: "the database's answer is for one user (private), and its key is not one user's",
    remedy:
      'Let requests carry credentials or a user header that is part of the identity, or have the database not send private.',
  },
  vary: {
    meaning: "the database's answer depends on request headers that are not part of the key (Vary)",
    remedy:
      'Name the header in identityHeaders (identity: headers), or have the gateway not send it in Vary; windowpane tail --json --reason vary shows which it is.',
  },
  malformed_cache_headers: {
    meaning: "Cache-Control, Age or Vary of the database's answer cannot be read",
    remedy: "windowpane tail --reason malformed_cache_headers shows the database's answers.",
  },
  unusable_answer: {
    meaning: 'the database answered in a form that cannot be cut into buckets',
    remedy: "windowpane tail --reason unusable_answer shows the database's answers.",
  },
  incomplete_data: {
    meaning:
      'the database refused the request for the missing part, which accepts no incomplete data: the client’s own request was forwarded',
    remedy: 'Look whether all stores of the database answer; where they do, the query itself fails.',
  },
  answer_too_large: {
    meaning: 'the answer exceeds the size that is kept in memory',
    remedy: 'Raise limits.maxAnswer, or request fewer series.',
  },
  memory_exhausted: {
    meaning: 'the memory budget has no room for the answer in flight',
    remedy: 'Raise limits.memory, or request fewer series at once.',
  },
  planning_budget: {
    meaning: 'a long query of a client whose long queries took too much time to plan lately',
    remedy:
      'Find out with windowpane tail --reason planning_budget who sends so many different long queries; where they are meant, raise limits.planning.',
  },
  store_failed: {
    meaning: 'the store failed: the request went straight to the database',
    remedy: 'Look at the log of the proxy: its store fails.',
  },
} as const satisfies Readonly<Record<string, ReasonWords>>
export type ServingReason = keyof typeof servingReasons

/** Why the database forbids that its answer be stored or given to another request (RFC 9111). */
export const unstoredReasons = [
  'no_store',
  'no_cache',
  'private',
  'vary',
  'malformed_cache_headers',
] as const satisfies readonly ServingReason[]
export type UnstoredReason = (typeof unstoredReasons)[number]

/** Why the database had to be queried although the request is eligible. */
export const missReasons = {
  absent: 'some buckets were never fetched, or were evicted, or removed after a purge',
  purged: 'some buckets are stored, but were purged or marked as changed since they were fetched',
  expired: 'some buckets were older than their TTL',
  edge: 'all whole buckets were fresh; a partially requested bucket was not cached with exactly these bounds, or its TTL had expired',
  revalidate: 'the client demanded fresher data than was stored (no-cache, max-age)',
} as const
export type MissReason = keyof typeof missReasons

export const staleReasons = {
  database_unreachable: 'no connection to the database, or it broke off',
  database_timeout: 'the database did not answer in time',
  database_error: 'the database answered with a server error',
  database_slow: 'the query to the database is still in progress; stored buckets were served meanwhile',
  queue_full:
    'the query was not sent: as many as `backends.*.concurrency` permits were at the database, or no connection (`limits.upstreamConnections`) was free in time',
  over_quota: 'the client has used up its quota, and `quotas.serveStale` is on',
} as const
export type StaleReason = keyof typeof staleReasons

export const refusalReasons = {
  overloaded: 'too many requests at once',
  request_too_large: 'the request body exceeds the limit',
  loop: 'the request has already passed through this Windowpane',
  only_if_cached: 'the client accepts only a stored answer and there is none',
  bad_request: 'the request is not HTTP that can be forwarded',
  over_quota:
    'the client has used up a limit of its quota (429; `Retry-After` has the time until the next try)',
  quota_never: 'the request costs more than a limit of the quota can ever hold (429)',
  quota_unavailable:
    'the store that counts quotas does not answer, and `quotas.onUnavailable` is `block` (503)',
  queue_full:
    'the query was not sent: as many as `backends.*.concurrency` permits were at the database, or no connection (`limits.upstreamConnections`) was free in time (503)',
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

/** Why Windowpane closed a client's connection before its request or its answer was complete. Metric labels. */
export const cutReasons = {
  request_timeout: 'the request was not complete after `limits.requestTimeout`',
  slow_sender: 'the request arrived more slowly than `limits.minRate`',
  slow_reader:
    'the client took its answer more slowly than `limits.minRate`, or nothing for `limits.writeTimeout`',
  held_connection:
    'the client read a forwarded answer more slowly than the database sent it, while other requests waited for a connection to the database',
  incomplete_memory:
    'incomplete requests took more than their share of `limits.memory`: the largest are closed',
  incomplete_per_address:
    'more than `limits.maxIncompletePerAddress` requests of one address were incomplete',
  connections: 'more than `limits.maxConnections` were open',
  connections_per_address: 'more than `limits.maxConnectionsPerAddress` of one address were open',
} as const
export type CutReason = keyof typeof cutReasons

/** Filled on the way of a request. Durations in milliseconds. */
export interface Decision {
  outcome: Outcome
  /** Of the question, once it is planned. */
  key?: Key
  /** From the lists above or, for a bypass, from the reasons that a kind of database declares. */
  reason?: string
  /** For people; never a metric label. */
  detail?: string
  /** The exception through which the answer is that to another request (`edges=whole`); see engine/rewrites.ts. */
  rewritten?: string | undefined
  /** Opt-in exceptions that the answer depends on, by their configuration keys. */
  exceptions?: readonly string[]
  /** Buckets in the window, and how many of them this request fetched from the database. */
  buckets?: number
  asked?: number
  /** The buckets that were not in the store, whichever request fetched them. */
  gaps?: Intervals
  /** Part or all of the answer came from a flight that another request had opened. */
  collapsed?: boolean
  stored?: boolean
  /** Why the database forbids storing the response that this request fetched. */
  unstored?: UnstoredReason | undefined
  /** Status of the database's response, where it was queried. */
  upstreamStatus?: number
  /** Seconds since the oldest stored bucket in the answer was fetched. */
  ageSeconds?: number
  /** Seconds until the first bucket of a hit stops being fresh; negative in a stale answer. */
  ttlSeconds?: number
  /** Only in a stale response that is incomplete: the missing instants, ISO 8601, and their number. */
  missing?: string
  missingBuckets?: number
  /** From where to where it reaches. */
  known?: Interval
  readonly timings: { plan: number; lookup: number; fetch: number }
}

/** The members that a request keeps over all its attempts. */
const lasting: ReadonlySet<string> = new Set(['timings', 'key', 'exceptions', 'rewritten'])

/** Clears the notes of an earlier attempt. */
export function resetDecision(decision: Decision): void {
  for (const name of Object.keys(decision)) {
    if (!lasting.has(name)) delete (decision as Partial<Decision>)[name as keyof Decision]
  }
  decision.outcome = 'error'
}

export const newDecision = (): Decision => ({ outcome: 'error', timings: { plan: 0, lookup: 0, fetch: 0 } })
