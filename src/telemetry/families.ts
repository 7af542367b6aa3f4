/** Every metric with its type and meaning: what is exposed, and what the reference page lists. */
import type { Family } from './exposition.ts'

const counter = (name: string, help: string): Family => ({ name, type: 'counter', help })
const gauge = (name: string, help: string): Family => ({ name, type: 'gauge', help })
const histogram = (name: string, help: string): Family => ({ name, type: 'histogram', help })

export const families = {
  requests: counter('windowpane_requests_total', 'Requests answered, by outcome and reason.'),
  duration: histogram(
    'windowpane_request_duration_seconds',
    'From the request to the moment its answer was handed to the connection.',
  ),
  phase: histogram('windowpane_phase_duration_seconds', 'Time per phase of a request.'),
  buckets: counter('windowpane_buckets_total', 'Buckets in answers, from the cache and from the database.'),
  resultBytes: counter(
    'windowpane_result_bytes_total',
    'Bytes of answers as sent; those of a partial answer are divided by its buckets.',
  ),
  origin: counter('windowpane_origin_requests_total', 'Queries to the database, by how they ended.'),
  interval: counter(
    'windowpane_origin_interval_seconds_total',
    'Length of the windows clients asked for, and of those the database was asked for.',
  ),
  age: histogram(
    'windowpane_served_age_seconds',
    'Time since the oldest stored bucket of an answer was fetched.',
  ),
  joined: counter(
    'windowpane_singleflight_joined_total',
    'Requests that were served by the query of another one.',
  ),
  inFlight: gauge('windowpane_requests_in_flight', 'Requests being answered.'),
  flights: gauge('windowpane_flights', 'Queries to the database under way for the cache.'),
  memoryUsed: gauge('windowpane_memory_used_bytes', 'Buckets, bodies in flight and unsent answers.'),
  memoryLimit: gauge('windowpane_memory_limit_bytes', 'What they may take together.'),
  storeEntries: gauge('windowpane_store_entries', 'Keys in a store.'),
  storeBytes: gauge('windowpane_store_bytes', 'Bytes in a store.'),
  evictions: counter('windowpane_evictions_total', 'Keys or buckets that left a store, by reason.'),
  reloadOk: gauge(
    'windowpane_config_last_reload_successful',
    'Whether the last configuration that was read could be used.',
  ),
  reloadTime: gauge(
    'windowpane_config_last_reload_success_time_seconds',
    'When a configuration was last taken into use.',
  ),
  build: gauge('windowpane_build_info', 'Version of Windowpane and of Node.'),
  cpu: counter('process_cpu_seconds_total', 'User and system CPU time.'),
  started: gauge('process_start_time_seconds', 'When the process started.'),
  resident: gauge('process_resident_memory_bytes', 'Resident memory.'),
  heap: gauge('nodejs_heap_size_used_bytes', 'Memory used by JavaScript objects.'),
  external: gauge('nodejs_external_memory_bytes', 'Memory of buffers.'),
  lagP50: gauge('nodejs_eventloop_lag_p50_seconds', 'Median delay of the event loop since the last scrape.'),
  lagP99: gauge('nodejs_eventloop_lag_p99_seconds', 'Delay of the event loop, 99th percentile.'),
  lagMax: gauge('nodejs_eventloop_lag_max_seconds', 'Longest delay of the event loop.'),
} as const satisfies Record<string, Family>
