/** Every limit and its default, in one place; docs/reference/limits.md is checked against it. */

const MiB = 1024 * 1024
const minute = 60_000

const usual = {
  memoryBytes: 512 * MiB,
  maxAnswerBytes: 64 * MiB,
  maxHeaderBytes: MiB,
  maxRequestBytes: 10 * MiB,
  maxRequests: 1024,
  maxConnections: 10_000,
  planningMs: 2_000,
  maxConnectionsPerAddress: 5_000,
  maxIncompletePerAddress: 512,
  maxBuckets: 11_001,
  maxBucketsPerShape: 100_000,
  upstreamConnections: 64,
  upstreamTimeoutMs: 2.5 * minute,
  requestTimeoutMs: minute,
  writeTimeoutMs: minute,
  minRateBytes: 1024,
  maxStaleMs: 15 * minute,
  patienceMs: { slow: 10_000, down: 1_000 },
  storeTimeoutMs: 1_000,
  retentionMs: 24 * 60 * minute,
  drainMs: minute / 2,
}

export type Limits = Readonly<typeof usual>

export const defaultLimits: Limits = Object.freeze(usual)

export const limitsOf = (given: Partial<Limits> = {}): Limits => Object.freeze({ ...defaultLimits, ...given })

/** Also the rows of the reference page. */
export const limitDescriptions: Readonly<Record<keyof Limits, string>> = {
  memoryBytes:
    'panes, bodies in flight and unsent answers, including garbage that is not collected yet; beyond this, least-used entries are evicted',
  maxAnswerBytes: 'the longest answer that is cut into buckets and cached; longer ones are forwarded',
  maxHeaderBytes: 'the longest head of a request, and so its longest URL: as long as Prometheus reads',
  maxRequestBytes: 'the longest body of a query; longer ones are refused with 413',
  maxRequests: 'complete requests in progress at once; further ones are refused with 503',
  maxConnections: 'open client connections; further ones are closed at once',
  planningMs:
    'planning time that the long queries (2 KiB and more) of one client address may take in a burst; a fortieth of it is refilled each second, and all clients together have twice as much, with each worker; beyond this, long queries are forwarded',
  maxConnectionsPerAddress:
    'open connections of one client address; further ones are answered 503 and closed. All clients behind one NAT or load balancer have one address',
  maxIncompletePerAddress:
    'requests of one client address that have not arrived in full; beyond this, the oldest are answered 408 and closed',
  maxBuckets: 'buckets of one request; a request for more is forwarded',
  maxBucketsPerShape: 'stored buckets of one shape; beyond this, the oldest are evicted',
  upstreamConnections: 'connections to the database; further requests wait',
  upstreamTimeoutMs: 'a database that sends nothing for this long has failed: 504, or a stale answer',
  requestTimeoutMs: 'a client that has not sent its request after this long is disconnected',
  writeTimeoutMs: 'a client that reads nothing of its answer for this long is disconnected',
  minRateBytes:
    'bytes per second: a client that sends its request more slowly, over 10 s or more, is answered 408 and closed; one that reads its answer more slowly, over the write timeout, is disconnected; 0 allows any rate',
  maxStaleMs: 'how long after its TTL a bucket may be served when the database does not answer',
  patienceMs:
    'how long a request that could be answered stale waits for a database that is slow / known to be down',
  storeTimeoutMs: 'the timeout of reads and writes of a store; then a request continues without it',
  retentionMs: 'buckets are kept this long after they were fetched, memory permitting',
  drainMs: 'how long requests in progress may take to finish after SIGTERM',
}
