/** Every metric with its type, labels and meaning: for the exposition and for the reference page. */
import { wholeEndpoints } from '../backends/kinds.ts'
import { cutReasons, outcomes, unstoredReasons } from '../core/decision.ts'
import { leaseResults } from '../engine/cell-claims.ts'
import { verifyResults } from '../engine/shadow/log.ts'
import { breakerStates } from '../stores/breaker.ts'
import { evictionReasons, storeOperations } from '../stores/figures.ts'
import { counter, type Family, gauge, histogram } from './exposition.ts'
import { nodeStates, objectStates, originStatuses, phases } from './labels.ts'
import { quotaMetrics } from './quota-families.ts'
import { stalenessMetrics } from './staleness-families.ts'

const backend = { backend: 'name of the backend' }
const store = { store: '`memory`, or the name of the store in the configuration' }
const source = { source: ['cache', 'origin'] }

export const families = {
  requests: counter('windowpane_requests_total', 'Requests answered, by outcome and reason.', {
    labels: { ...backend, outcome: outcomes, reason: '[the reasons](outcomes.md); empty for a hit' },
    example: 'sum by (outcome) (rate(windowpane_requests_total[5m]))',
  }),
  duration: histogram(
    'windowpane_request_duration_seconds',
    'From the request to the moment its answer was handed to the connection.',
    {
      labels: { ...backend, outcome: outcomes },
      example:
        'histogram_quantile(0.99, sum by (le, outcome) (rate(windowpane_request_duration_seconds_bucket[5m])))',
    },
  ),
  phase: histogram('windowpane_phase_duration_seconds', 'Time per phase of a request.', {
    labels: { phase: phases },
  }),
  buckets: counter('windowpane_buckets_total', 'Buckets in answers, from the cache and from the database.', {
    labels: { ...backend, ...source },
    example:
      'sum(rate(windowpane_buckets_total{source="cache"}[5m])) / sum(rate(windowpane_buckets_total[5m]))',
  }),
  resultBytes: counter(
    'windowpane_result_bytes_total',
    'Bytes of answers as sent; the bytes of a partial answer are split in proportion to its buckets.',
    { labels: source },
  ),
  objects: counter(
    'windowpane_objects_total',
    'Requests for answers that are cached as a whole, by endpoint and state.',
    {
      labels: { ...backend, endpoint: wholeEndpoints, state: objectStates },
      example:
        'sum by (endpoint) (rate(windowpane_objects_total{state=~"hit|revalidating|collapsed"}[5m])) / sum by (endpoint) (rate(windowpane_objects_total[5m]))',
    },
  ),
  origin: counter('windowpane_origin_requests_total', 'Queries to the database, by how they ended.', {
    labels: { ...backend, status: originStatuses },
  }),
  originDuration: histogram(
    'windowpane_origin_duration_seconds',
    'Latency of the database: from sending a query to the end of its response. For forwarded requests, to the first byte of the response.',
    {
      labels: backend,
      example:
        'histogram_quantile(0.99, sum by (le, backend) (rate(windowpane_origin_duration_seconds_bucket[5m])))',
    },
  ),
  savedQueries: counter(
    'windowpane_origin_queries_saved_total',
    'Requests that were answered without a query of their own to the database: hits and coalesced requests.',
    { labels: backend, example: 'sum by (backend) (rate(windowpane_origin_queries_saved_total[5m]))' },
  ),
  savedSeconds: counter(
    'windowpane_origin_seconds_saved_total',
    'Estimated database time of the saved queries: each counts as long as recent queries of the same backend took on average.',
    { labels: backend, example: 'sum by (backend) (rate(windowpane_origin_seconds_saved_total[5m]))' },
  ),
  upstreamUp: gauge(
    'windowpane_upstream_up',
    '1 while a URL of the backend takes requests; 0 after a failure, until a trial request succeeds.',
    { labels: { ...backend, upstream: 'URL of the database' }, example: 'windowpane_upstream_up == 0' },
  ),
  unstored: counter(
    'windowpane_unstored_total',
    'Answers that were not stored because the database forbids it, by reason.',
    {
      labels: { ...backend, reason: unstoredReasons },
      example: 'sum by (backend, reason) (rate(windowpane_unstored_total[5m]))',
    },
  ),
  interval: counter(
    'windowpane_origin_interval_seconds_total',
    'Length of the windows that clients requested (`asked`), and of the intervals fetched from the database (`fetched`).',
    {
      labels: { kind: ['asked', 'fetched'] },
      example:
        '1 - sum(rate(windowpane_origin_interval_seconds_total{kind="fetched"}[5m])) / sum(rate(windowpane_origin_interval_seconds_total{kind="asked"}[5m]))',
    },
  ),
  age: histogram(
    'windowpane_served_age_seconds',
    'Time since the oldest stored bucket of an answer was fetched.',
    {
      example: 'histogram_quantile(0.99, sum by (le) (rate(windowpane_served_age_seconds_bucket[5m])))',
    },
  ),
  joined: counter(
    'windowpane_singleflight_joined_total',
    'Requests that were coalesced: served by the query of another one.',
  ),
  verify: counter(
    'windowpane_verify_total',
    'Answers of the cache that shadow mode compared with those of the database: `explained` differ by permitted staleness.',
    {
      labels: { ...backend, result: verifyResults },
      example: 'sum(increase(windowpane_verify_total{result="unexplained"}[1h]))',
    },
  ),
  segmentsTrusted: gauge(
    'windowpane_segments_trusted',
    '1 while settled buckets stay fresh because their segments are seen to be the same; 0 where the last good look is too old.',
    { labels: backend, example: 'windowpane_segments_trusted == 0' },
  ),
  segmentsAge: gauge(
    'windowpane_segments_view_age_seconds',
    'Time since the last good look at the segments; since the start, where there was none.',
    {
      labels: backend,
    },
  ),
  segmentsWatched: gauge('windowpane_segments_watched', 'Segments that were seen at the last good look.', {
    labels: backend,
  }),
  segmentsMarked: counter(
    'windowpane_segments_marked_total',
    'Intervals that were marked as changed because their segments had.',
    { labels: backend, example: 'sum by (backend) (increase(windowpane_segments_marked_total[1h]))' },
  ),
  ...stalenessMetrics,
  ...quotaMetrics,
  inFlight: gauge('windowpane_requests_in_flight', 'Complete requests that are being answered.'),
  cut: counter(
    'windowpane_connections_cut_total',
    'Client connections that were closed because of a limit, by [reason](outcomes.md#connections-that-are-closed).',
    {
      labels: { reason: Object.keys(cutReasons) },
      example: 'sum by (reason) (rate(windowpane_connections_cut_total[5m]))',
    },
  ),
  flights: gauge('windowpane_flights', 'Queries to the database in progress for the cache.'),
  memoryUsed: gauge('windowpane_memory_used_bytes', 'Buckets, bodies in flight and unsent answers.'),
  memoryLimit: gauge('windowpane_memory_limit_bytes', 'The limit of their sum.'),
  storeEntries: gauge('windowpane_store_entries', 'Keys in a store.', { labels: store }),
  storeBytes: gauge('windowpane_store_bytes', 'Bytes in a store.', { labels: store }),
  storeLimit: gauge('windowpane_store_limit_bytes', 'The limit of a store on disk.', {
    labels: store,
    example: 'windowpane_store_bytes / windowpane_store_limit_bytes',
  }),
  storeDegraded: gauge(
    'windowpane_store_degraded',
    '1 where a store cannot be used as it should: missing, full, damaged, failing or too slow.',
    { labels: store },
  ),
  storeFailures: counter(
    'windowpane_store_failures_total',
    'Operations of a far store that failed or timed out.',
    { labels: store },
  ),
  storeDropped: counter(
    'windowpane_store_dropped_total',
    'Panes that were not written to a far store; each costs a query after a restart.',
    { labels: store },
  ),
  storeFound: counter(
    'windowpane_store_found_total',
    'Reads of a far store that found buckets which were absent from memory, or newer.',
    { labels: store, example: 'sum by (store) (rate(windowpane_store_found_total[5m]))' },
  ),
  storeOperation: histogram(
    'windowpane_store_operation_duration_seconds',
    'Time per operation of a far store.',
    {
      labels: { ...store, op: storeOperations },
      example:
        'histogram_quantile(0.99, sum by (le, store, op) (rate(windowpane_store_operation_duration_seconds_bucket[5m])))',
    },
  ),
  storeBreaker: gauge(
    'windowpane_store_breaker_state',
    '1 for the current state of the circuit breaker of a far store, 0 for the others. While it is `open` no request waits for the store; `half_open` admits one operation.',
    {
      labels: { ...store, state: breakerStates },
      example: 'sum by (store) (windowpane_store_breaker_state{state!="closed"})',
    },
  ),
  storeBreakerTransitions: counter(
    'windowpane_store_breaker_transitions_total',
    'How often the circuit breaker of a far store entered a state.',
    {
      labels: { ...store, to: breakerStates },
      example: 'sum by (store) (increase(windowpane_store_breaker_transitions_total{to="open"}[1h]))',
    },
  ),
  storeThrottled: counter(
    'windowpane_store_throttled_total',
    'Requests that the engine of a store rejected for now because too many came.',
    { labels: store, example: 'sum by (store) (rate(windowpane_store_throttled_total[5m]))' },
  ),
  storeRefused: counter(
    'windowpane_store_refused_requests_total',
    'Requests that the engine of a store rejected for good: missing rights, missing tables, values that are too large.',
    { labels: store, example: 'sum by (store) (increase(windowpane_store_refused_requests_total[1h]))' },
  ),
  storeExpired: counter(
    'windowpane_store_expired_rows_total',
    'Rows that the TTL of the engine itself has deleted, where it reports them. A sign that collection works, nothing else.',
    { labels: store },
  ),
  leases: counter(
    'windowpane_leases_total',
    'Claims to a fetch, between nodes that share a store: `won`, `waited` for another node, whose lease may have `expired`; `unavailable`: sent without a claim, because the store failed, was too slow or too busy.',
    { labels: { result: leaseResults }, example: 'sum by (result) (rate(windowpane_leases_total[5m]))' },
  ),
  evictions: counter(
    'windowpane_evictions_total',
    'Keys or buckets that were evicted from a store, by reason.',
    {
      labels: { ...store, reason: evictionReasons },
    },
  ),
  fleetNodes: gauge(
    'windowpane_fleet_nodes',
    'Nodes that share a store with this one, itself included: `missing` ones ended without a shutdown, or cannot reach the store, and are shown for an hour.',
    { labels: { state: nodeStates }, example: 'max by (state) (windowpane_fleet_nodes)' },
  ),
  fleetConnected: gauge(
    'windowpane_fleet_connected',
    '1 while this node and the nodes that share its stores can see each other; 0 where a shared store does not answer.',
    { example: 'min(windowpane_fleet_connected)' },
  ),
  spansSent: counter('windowpane_trace_spans_sent_total', 'Spans that the collector accepted.'),
  spansDropped: counter(
    'windowpane_trace_spans_dropped_total',
    'Spans that were dropped: the queue was full, or the collector refused them.',
  ),
  reloadOk: gauge(
    'windowpane_config_last_reload_successful',
    'Whether the last configuration that was read could be used.',
  ),
  reloadTime: gauge(
    'windowpane_config_last_reload_success_time_seconds',
    'When a configuration was last applied.',
  ),
  build: gauge('windowpane_build_info', 'Version of Windowpane and of Node.', {
    labels: { version: 'version of Windowpane', node: 'version of Node' },
  }),
  cpu: counter('process_cpu_seconds_total', 'User and system CPU time.'),
  started: gauge('process_start_time_seconds', 'When the process started.'),
  resident: gauge('process_resident_memory_bytes', 'Resident memory.'),
  heap: gauge('nodejs_heap_size_used_bytes', 'Memory used by JavaScript objects.'),
  external: gauge('nodejs_external_memory_bytes', 'Memory of buffers.'),
  lagP50: gauge('nodejs_eventloop_lag_p50_seconds', 'Median delay of the event loop since the last scrape.'),
  lagP99: gauge('nodejs_eventloop_lag_p99_seconds', 'Delay of the event loop, 99th percentile.'),
  lagMax: gauge('nodejs_eventloop_lag_max_seconds', 'Longest delay of the event loop.'),
} as const satisfies Record<string, Family>
