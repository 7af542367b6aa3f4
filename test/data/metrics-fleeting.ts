/** Series that come and go, with and without staleness markers. */
import { STALE, STALE_HISTOGRAM } from '../servers/remote-write.ts'
import { integerHistogram } from './histograms.ts'
import { constant, counter, fractionalCounter, wave } from './samplers.ts'
import {
  END,
  HOUR,
  type Life,
  type MetricSpec,
  MINUTE,
  randomFrom,
  SECOND,
  type SeriesSpec,
  START,
} from './series.ts'

/** Returns lives of `onMs` with `offMs` between them, over the whole period. */
function onAndOff(onMs: number, offMs: number): Life[] {
  const lives: Life[] = []
  for (let from = START; from < END; from += onMs + offMs) {
    lives.push({ from, to: Math.min(from + onMs, END) })
  }
  return lives
}

/** Returns the lives between holes, each hole given by its start after START and its length. */
function withHoles(...holes: readonly [number, number][]): Life[] {
  const starts = [START, ...holes.map(([at, length]) => START + at + length)]
  const ends = [...holes.map(([at]) => START + at), END]
  return starts.map((from, index) => ({ from, to: ends[index]! }))
}

/** Pods one after the other in three namespaces, each living 30 to 90 minutes. */
function pods(): SeriesSpec[] {
  const random = randomFrom('pods')
  return ['default', 'kube-system', 'shop'].flatMap((namespace) => {
    const series: SeriesSpec[] = []
    let from = START + Math.floor(random() * HOUR)
    while (series.length < 12) {
      const to = Math.min(from + (30 + Math.floor(random() * 60)) * MINUTE, END)
      const pod = `web-${Math.floor(random() * 2 ** 32).toString(16)}`
      const offsetMs = Math.floor(random() * 15_000)
      series.push({
        labels: { namespace, pod },
        lives: [{ from, to }],
        offsetMs,
        marker: STALE,
        sampler: fractionalCounter(2),
      })
      from = to + Math.floor((random() - 0.3) * 40 * MINUTE)
    }
    return series
  })
}

function batchRuns(): SeriesSpec[] {
  return Array.from({ length: 12 }, (_, run) => {
    const from = START + run * 2 * HOUR + 5 * MINUTE
    return {
      labels: { run: String(run) },
      lives: [{ from, to: from + 10 * MINUTE }],
      sampler: wave(100, 50, 0),
    }
  })
}

function within(fromHour: number, toHour: number): Life[] {
  return [{ from: START + fromHour * HOUR, to: START + toHour * HOUR }]
}

const comingAndGoing: MetricSpec[] = [
  {
    name: 'pod_cpu_usage_seconds_total',
    kind: 'counter',
    note: 'many short-lived series that end with staleness markers',
    series: pods(),
  },
  {
    name: 'batch_progress',
    kind: 'gauge',
    note: 'each series lives 10 min every 2 h and just stops: it is seen 5 min longer',
    series: batchRuns(),
  },
  {
    name: 'flapping',
    kind: 'gauge',
    note: 'on and off: ends "marker" with staleness markers, "silence" by stopping, "quick" for 45 s only',
    series: [
      {
        labels: { ends: 'marker' },
        lives: onAndOff(7 * MINUTE, 9 * MINUTE),
        marker: STALE,
        sampler: wave(1, 1),
      },
      { labels: { ends: 'silence' }, lives: onAndOff(7 * MINUTE, 9 * MINUTE), sampler: wave(1, 1) },
      { labels: { ends: 'quick' }, lives: onAndOff(45_000, 75_000), marker: STALE, sampler: wave(1, 1) },
    ],
  },
  {
    name: 'flapping_histogram',
    kind: 'native_histogram',
    note: 'native, 20 min on and 10 min off, with staleness markers',
    series: [
      {
        labels: { service: 'cart' },
        lives: onAndOff(20 * MINUTE, 10 * MINUTE),
        marker: STALE_HISTOGRAM,
        sampler: integerHistogram,
      },
    ],
  },
  {
    name: 'gappy',
    kind: 'gauge',
    note: 'holes of 15 s, 4:45, 5:15 and 2 h after 1, 3, 5 and 10 h; around the lookback of 5 min',
    series: ['a', 'b'].map((part, index) => ({
      labels: { part },
      offsetMs: index * 4321,
      lives: withHoles(
        [HOUR, 15_000],
        [3 * HOUR, 4 * MINUTE + 45_000],
        [5 * HOUR, 5 * MINUTE + 15_000],
        [10 * HOUR, 2 * HOUR],
      ),
      sampler: wave(10, 3),
    })),
  },
  {
    name: 'build_info',
    kind: 'gauge',
    note: 'always 1; the version label changes after 8, 10 and 12 h, for joins on (instance)',
    series: ['api-1:8080', 'api-2:8080', 'node-1:9100'].flatMap((instance, index) => [
      {
        labels: { instance, version: '1.9.0' },
        lives: within(0, 8 + 2 * index),
        marker: STALE,
        sampler: constant(1),
      },
      { labels: { instance, version: '1.10.0' }, lives: within(8 + 2 * index, 24), sampler: constant(1) },
    ]),
  },
]

const partOfThePeriod: MetricSpec[] = [
  {
    name: 'only_first_hours',
    kind: 'gauge',
    note: 'only the first 6 h, then a staleness marker',
    series: [{ labels: {}, lives: within(0, 6), marker: STALE, sampler: wave(3, 1) }],
  },
  {
    name: 'only_last_hours_total',
    kind: 'counter',
    note: 'only the last 6 h',
    series: [{ labels: {}, lives: within(18, 24), sampler: counter(3) }],
  },
  {
    name: 'only_middle',
    kind: 'gauge',
    note: 'only one hour in the middle, ends by stopping',
    series: [{ labels: {}, lives: within(12, 13), sampler: wave(3, 1) }],
  },
  {
    name: 'single_sample',
    kind: 'gauge',
    note: 'exactly one sample, at 12 h',
    series: [
      { labels: {}, lives: [{ from: START + 12 * HOUR, to: START + 12 * HOUR + 1 }], sampler: constant(42) },
    ],
  },
  {
    name: 'slow_scrape',
    kind: 'gauge',
    note: 'every 5 min (the lookback exactly) and every 10 min (half of the steps have no value)',
    series: [5, 10].map((minutes) => ({
      labels: { every: `${minutes}m` },
      intervalMs: minutes * MINUTE,
      sampler: wave(7, 2),
    })),
  },
  {
    name: 'fast_scrape',
    kind: 'gauge',
    note: 'every second, for one hour at 20 h',
    series: [{ labels: {}, intervalMs: SECOND, offsetMs: 137, lives: within(20, 21), sampler: wave(7, 2) }],
  },
]

export const fleetingMetrics: readonly MetricSpec[] = [...comingAndGoing, ...partOfThePeriod]
