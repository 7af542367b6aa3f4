/** Every limit and its default, in one place; docs/reference/limits.md is checked against it. */

export interface Limits {
  /** Panes, bodies in flight and unsent answers together. */
  readonly memoryBytes: number
  /** The longest answer that is cut and kept; longer ones are passed on. */
  readonly maxAnswerBytes: number
  /** The longest body of a query. */
  readonly maxRequestBytes: number
  /** Requests under way at once; further ones are refused with 503. */
  readonly maxRequests: number
  readonly maxConnections: number
  /** Buckets one request may ask for; above, it is passed on. */
  readonly maxBuckets: number
  readonly maxBucketsPerShape: number
  readonly upstreamConnections: number
  /** A database that sends nothing for this long has failed. */
  readonly upstreamTimeoutMs: number
  /** A client that has not sent its request after this long is cut off. */
  readonly requestTimeoutMs: number
  /** A client that takes nothing for this long is cut off. */
  readonly writeTimeoutMs: number
  /** How long after its TTL a bucket may be served when the database does not answer. */
  readonly maxStaleMs: number
  /** How long a request that could be answered stale waits for a slow database, and for one that is down. */
  readonly patienceMs: { readonly slow: number; readonly down: number }
  readonly retentionMs: number
  /** How long requests under way may take to finish at the end. */
  readonly drainMs: number
}

const MiB = 1024 * 1024
const minute = 60_000

export const defaultLimits: Limits = Object.freeze({
  memoryBytes: 512 * MiB,
  maxAnswerBytes: 64 * MiB,
  maxRequestBytes: 10 * MiB,
  maxRequests: 1024,
  maxConnections: 10_000,
  maxBuckets: 11_001,
  maxBucketsPerShape: 100_000,
  upstreamConnections: 64,
  upstreamTimeoutMs: 2.5 * minute,
  requestTimeoutMs: minute,
  writeTimeoutMs: minute,
  maxStaleMs: 15 * minute,
  patienceMs: { slow: 10_000, down: 1_000 },
  retentionMs: 24 * 60 * minute,
  drainMs: minute / 2,
})

export const limitsOf = (given: Partial<Limits> = {}): Limits => Object.freeze({ ...defaultLimits, ...given })
