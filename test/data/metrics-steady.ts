/** Series without gaps: the usual data of dashboards. */
import {
  bucketSeries,
  countSeries,
  customBucketHistogram,
  floatGaugeHistogram,
  floatsAndHistograms,
  integerHistogram,
  sumSeries,
} from './histograms.ts'
import {
  constant,
  counter,
  cycle,
  fractionalCounter,
  secondsSinceStart,
  upOrDown,
  walk,
  wave,
} from './samplers.ts'
import { combinations, HOUR, type MetricSpec, MINUTE, SECOND, type SeriesSpec } from './series.ts'

/** Scrapes are not aligned with steps: each target has its own odd offset. */
const OFFSETS: Readonly<Record<string, number>> = {
  'api-1:8080': 1234,
  'api-2:8080': 7_019,
  'node-1:9100': 0,
  'node-2:9100': 11_111,
  'node-3:9100': 14_999,
}

function target(labels: Record<string, string>, sampler: SeriesSpec['sampler']): SeriesSpec {
  return { labels, sampler, offsetMs: OFFSETS[labels['instance'] ?? ''] ?? 0 }
}

const JOBS = ['api', 'api-readonly']
const API_INSTANCES = ['api-1:8080', 'api-2:8080']
const NODES = ['node-1:9100', 'node-2:9100', 'node-3:9100']

const apiTargets = combinations({ job: JOBS, instance: API_INSTANCES })
const nodeTargets = combinations({ job: ['node'], instance: NODES })
const handlers = combinations({ job: JOBS, handler: ['/', '/api/v1/items'] })

const counters: MetricSpec[] = [
  {
    name: 'http_requests_total',
    kind: 'counter',
    note: 'whole numbers, resets about every 5 h; job "api" is a prefix of "api-readonly"',
    series: combinations({
      job: JOBS,
      instance: API_INSTANCES,
      method: ['GET', 'POST'],
      code: ['200', '404', '500'],
    }).map((labels) => target(labels, counter(labels['code'] === '200' ? 50 : 2, 5 * HOUR))),
  },
  {
    name: 'node_cpu_seconds_total',
    kind: 'counter',
    note: 'fractions; node-3 is scraped every 30 s and restarts about every 9 h',
    series: combinations({
      job: ['node'],
      instance: NODES,
      cpu: ['0', '1'],
      mode: ['idle', 'iowait', 'system', 'user'],
    }).map((labels) =>
      labels['instance'] === 'node-3:9100'
        ? { ...target(labels, fractionalCounter(1, 9 * HOUR)), intervalMs: 30 * SECOND }
        : target(labels, fractionalCounter(labels['mode'] === 'idle' ? 12 : 1)),
    ),
  },
  {
    name: 'node_network_receive_bytes_total',
    kind: 'counter',
    note: 'large: beyond 2^53 for eth0',
    series: combinations({ instance: ['node-1:9100'], device: ['eth0', 'lo'] }).map((labels) =>
      target(labels, labels['device'] === 'eth0' ? counter(1e14) : counter(1e6)),
    ),
  },
  {
    name: 'errors_total',
    kind: 'counter',
    note: 'rare: "never" is always 0, "seldom" goes up a few times a day',
    series: [
      { labels: { kind: 'never' }, sampler: constant(0) },
      { labels: { kind: 'seldom' }, sampler: (random) => rareCounter(random) },
    ],
  },
]

function rareCounter(random: () => number): () => number {
  let total = 0
  return () => {
    if (random() < 0.001) total++
    return total
  }
}

const gauges: MetricSpec[] = [
  {
    name: 'up',
    kind: 'gauge',
    note: '0 or 1',
    series: [...apiTargets, ...nodeTargets].map((labels) => target(labels, upOrDown)),
  },
  {
    name: 'temperature_celsius',
    kind: 'gauge',
    note: 'fractions with one digit, also below zero; every 30 s',
    series: ['attic', 'cellar', 'kitchen', 'living room'].map((room, index) => ({
      labels: { room, floor: String(index % 2) },
      intervalMs: 30 * SECOND,
      offsetMs: index * 3333,
      sampler: wave(5 * index, 12, 1),
    })),
  },
  {
    name: 'memory_bytes',
    kind: 'gauge',
    note: 'whole numbers around 1e9 to 1e10',
    series: combinations({ instance: NODES, state: ['free', 'used'] }).map((labels) =>
      target(labels, wave(4e9, 1e9, 0)),
    ),
  },
  {
    name: 'queue_depth',
    kind: 'gauge',
    note: 'small whole numbers, often 0',
    series: ['default', 'high', 'low'].map((queue) => ({ labels: { queue }, sampler: walk(25) })),
  },
  {
    name: 'request_limit',
    kind: 'gauge',
    note: 'constant per job, for vector matching with http_requests_total and up',
    series: JOBS.map((job, index) => ({ labels: { job }, sampler: constant(100 * (index + 1)) })),
  },
  {
    name: 'job:http_requests:rate5m',
    kind: 'gauge',
    note: 'colons in the name, as a recording rule has; every 60 s',
    series: JOBS.map((job) => ({ labels: { job }, intervalMs: MINUTE, sampler: wave(30, 10) })),
  },
  {
    name: 'ramp_seconds',
    kind: 'gauge',
    note: 'one series, no labels, no gaps, scraped at whole 15 s: seconds since the start of the data',
    series: [{ labels: {}, sampler: secondsSinceStart }],
  },
  {
    name: 'constant_one',
    kind: 'gauge',
    note: 'one series, no labels, always 1',
    series: [{ labels: {}, sampler: constant(1) }],
  },
  {
    name: 'special_values',
    kind: 'gauge',
    note: 'NaN, infinities, -0, 1e-7, 1e21; "cycle" changes every scrape, "slow" every 20 scrapes',
    series: specialValues(),
  },
]

function specialValues(): SeriesSpec[] {
  const values = {
    nan: Number.NaN,
    inf: Number.POSITIVE_INFINITY,
    neginf: Number.NEGATIVE_INFINITY,
    negzero: -0,
    tiny: 1e-7,
    huge: 1e21,
    denormal: 5e-324,
    third: 1 / 3,
  }
  const all = [...Object.values(values), 0, 1, -1, 123456789.123, 1e-6, 1e20, 2 ** 53 + 2, -1.5e300]
  return [
    ...Object.entries(values).map(([kind, value]) => ({ labels: { kind }, sampler: constant(value) })),
    { labels: { kind: 'cycle' }, sampler: cycle(all) },
    { labels: { kind: 'slow' }, sampler: cycle(all, 20) },
  ]
}

const histograms: MetricSpec[] = [
  {
    name: 'http_request_duration_seconds_bucket',
    kind: 'classic_histogram',
    note: 'with le; restarts every 7 h',
    series: handlers.flatMap(bucketSeries),
  },
  {
    name: 'http_request_duration_seconds_sum',
    kind: 'classic_histogram',
    note: 'the sum of the same',
    series: handlers.map(sumSeries),
  },
  {
    name: 'http_request_duration_seconds_count',
    kind: 'classic_histogram',
    note: 'the count of the same',
    series: handlers.map(countSeries),
  },
  {
    name: 'gc_duration_seconds',
    kind: 'summary',
    note: 'with quantile',
    series: ['0', '0.5', '0.9', '0.99', '1'].map((quantile) => ({
      labels: { quantile },
      sampler: wave(0.001 * (1 + Number(quantile)), 0.0003, 9),
    })),
  },
  {
    name: 'rpc_duration_seconds',
    kind: 'native_histogram',
    note: 'integer counts, exponential buckets of schema 0; restarts every 7 h',
    series: ['cart', 'checkout', 'search'].map((service, index) => ({
      labels: { service },
      offsetMs: index * 2500,
      sampler: integerHistogram,
    })),
  },
  {
    name: 'balance_distribution',
    kind: 'native_histogram',
    note: 'a gauge with float counts, negative buckets and two spans; every 30 s',
    series: [{ labels: { currency: 'EUR' }, intervalMs: 30 * SECOND, sampler: floatGaugeHistogram }],
  },
  {
    name: 'custom_bucket_seconds',
    kind: 'native_histogram',
    note: 'custom buckets (schema -53)',
    series: [{ labels: { service: 'cart' }, sampler: customBucketHistogram }],
  },
  {
    name: 'float_and_histogram',
    kind: 'float_and_histogram',
    note: 'floats in the first two hours, native histograms in the next two, and so on',
    series: ['a', 'b'].map((part) => ({ labels: { part }, sampler: floatsAndHistograms })),
  },
]

export const steadyMetrics: readonly MetricSpec[] = [...counters, ...gauges, ...histograms]
