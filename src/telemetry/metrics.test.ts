import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOW, samplePlan, sampleVisit, visits } from '../../test/rigs/visits.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { stalenessGroups } from '../ttl/learned/staleness-meter.ts'
import type { GroupReport } from '../ttl/staleness-report.ts'
import type { Family } from './exposition.ts'
import { families } from './families.ts'
import { ageGroups, outcomeReasons } from './labels.ts'
import { Metrics } from './metrics.ts'
import type { QuotaFigures } from './quota-families.ts'
import { recordOf } from './record.ts'
import type { LearnedFigures } from './staleness-families.ts'

const processFigures = {
  cpuSeconds: 1.5,
  startedAt: NOW - 60_000,
  residentBytes: 1000,
  heapBytes: 500,
  externalBytes: 100,
  lagSeconds: { p50: 0, p99: 0.002, max: 0.01 },
}

const group = (i: number, changed: Partial<GroupReport>): GroupReport => ({
  ...{ fromMs: stalenessGroups[i]!, toMs: stalenessGroups[i + 1] ?? Number.POSITIVE_INFINITY },
  ...{ estimate: 0, low: 0, high: 1, samples: 0, error: 0, ttlMs: 86_400_000, boundBy: [] },
  ...changed,
})

const learnedFigures: LearnedFigures = {
  backend: 'main',
  budget: 0.01,
  isKept: undefined,
  groups: [
    group(0, { ttlMs: 5000, boundBy: ['floor'] }),
    group(1, { estimate: 0.02, low: 0.005, high: 0.04, samples: 250.5, error: 0.125, ttlMs: 12_500 }),
    ...[2, 3, 4].map((i) => group(i, {})),
    group(5, { boundBy: ['cap'] }),
  ],
  refetched: { same: 900, changed: 100 },
  probes: {
    sample: { same: 21, changed: 22, failed: 23 },
    sentinel: { same: 24, changed: 25, failed: 26 },
    refresh: { same: 27, changed: 28, failed: 29 },
  },
  dropped: 6,
}

const quotaFigures: QuotaFigures = {
  backend: 'main',
  queue: { length: 31, waited: 32, waitedMs: 33_500, refused: 34 },
  quota: {
    ...{ permits: 45, degraded: 36 },
    refused: { requests: 37, cost: 38, points: 39 },
    dryRun: { requests: 40, cost: 41, points: 42 },
  },
}

const newMetrics = () =>
  new Metrics({
    clock: fakeClock(NOW),
    version: '1.2.3',
    sources: {
      stores: () => [
        { name: 'memory', engine: 'memory', entries: 3, bytes: 4096, evictions: { memory: 2, expired: 1 } },
        {
          name: 'disk',
          engine: 'lmdb',
          limitBytes: 9000,
          health: { state: 'degraded' },
          failures: 7,
          dropped: 5,
          found: 3,
          throttled: 6,
          refusedRequests: 2,
          expired: 9,
          breaker: { state: 'open', transitions: { closed: 1, open: 2, half_open: 1 } },
        },
        { name: 'odd "name"\\\n', engine: 'memory', entries: 1 },
      ],
      leases: () => ({ won: 11, waited: 12, expired: 13, unavailable: 14 }),
      memory: () => ({ used: 5000, limit: 10_000 }),
      flights: () => 2,
      requestsInFlight: () => 4,
      upstreams: () => [
        { backend: 'main', url: 'http://a:9090/', isHealthy: true },
        { backend: 'main', url: 'http://b:9090/', isHealthy: false },
      ],
      segments: () => [
        { backend: 'main', isTrusted: true, ageSeconds: 4.5, segments: 812, marked: 3 },
        { backend: 'other', isTrusted: false, ageSeconds: 99, segments: 0, marked: 0 },
      ],
      learned: () => [learnedFigures],
      quotas: () => [quotaFigures],
      fleet: () => ({ nodes: { up: 3, missing: 1 }, isConnected: true }),
      traces: () => ({ sent: 8, dropped: 3 }),
      process: () => processFigures,
    },
  })

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const label = /(\w+)="((?:[^"\\\n]|\\["\\n])*)"/g

/** Reads the text format strictly: every sample belongs to the family that was announced last, and none comes twice. */
function parse(text: string): Map<string, Sample[]> {
  const found = new Map<string, Sample[]>()
  const seen = new Set<string>()
  let [family, type] = ['', '']
  assert.ok(text.endsWith('\n'))
  for (const line of text.slice(0, -1).split('\n')) {
    const head = /^# (HELP|TYPE) (\w+) (.+)$/.exec(line)
    if (head !== null) {
      if (head[1] === 'HELP') assert.ok(!found.has(head[2]!), `${head[2]} comes twice`)
      if (head[1] === 'HELP') found.set(head[2]!, [])
      family = head[2]!
      type = head[1] === 'TYPE' ? head[3]! : ''
      continue
    }
    const match = /^(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)$/.exec(line)
    assert.ok(match !== null, `not a sample: ${line}`)
    const [, name, labels = '', value] = match
    const suffix = name!.slice(family.length)
    assert.ok(
      name!.startsWith(family) &&
        (type === 'histogram' ? /^_(bucket|sum|count)$/.test(suffix) : suffix === ''),
    )
    assert.ok(!seen.has(`${name}{${labels}}`), `${line} comes twice`)
    seen.add(`${name}{${labels}}`)
    assert.ok(value === '+Inf' || Number.isFinite(Number(value)), line)
    const pairs = [...labels.matchAll(label)].map(([, key, text]) => [key!, text!])
    found.get(family)!.push({ name: name!, labels: Object.fromEntries(pairs), value: Number(value) })
  }
  return found
}

const render = (metrics: Metrics): string => [...metrics.render()].join('')

const byAge = (name: string) => (ageAndValue: string) => {
  const [age, value] = ageAndValue.split(' ')
  return `${name}{backend="main",age="${age}"} ${value}`
}

test('the exposition, to the letter', () => {
  const metrics = newMetrics()
  for (const visit of Object.values(visits)) metrics.observe(recordOf('main', visit))
  metrics.observeFetch({ backend: 'main', status: '2xx', intervalMs: 360_000, durationMs: 40 })
  metrics.observeFetch({ backend: 'main', status: 'unreachable', intervalMs: 600_000, durationMs: 5000 })
  metrics.observeStore('disk', 'read', 0.5)
  metrics.noteReload(false)
  const shown = render(metrics)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !/_bucket\{| 0$/.test(line))
    .map((line) => line.replace(process.versions.node, 'NODE').replace(/ 0\.0260+2$/, ' 0.026'))
  assert.deepEqual(shown, [
    'windowpane_requests_total{backend="main",outcome="hit",reason=""} 1',
    'windowpane_requests_total{backend="main",outcome="partial",reason="expired"} 1',
    'windowpane_requests_total{backend="main",outcome="miss",reason="absent"} 1',
    'windowpane_requests_total{backend="main",outcome="stale",reason="database_unreachable"} 1',
    'windowpane_requests_total{backend="main",outcome="bypass",reason="not_a_range_query"} 1',
    'windowpane_requests_total{backend="main",outcome="refused",reason="overloaded"} 1',
    'windowpane_requests_total{backend="main",outcome="error",reason="client_gone"} 1',
    'windowpane_request_duration_seconds_sum{backend="main",outcome="hit"} 0.0005',
    'windowpane_request_duration_seconds_count{backend="main",outcome="hit"} 1',
    ...['partial', 'miss', 'stale', 'bypass', 'refused', 'error'].flatMap((outcome) => [
      `windowpane_request_duration_seconds_sum{backend="main",outcome="${outcome}"} 0.01`,
      `windowpane_request_duration_seconds_count{backend="main",outcome="${outcome}"} 1`,
    ]),
    'windowpane_phase_duration_seconds_sum{phase="plan"} 0.0005',
    'windowpane_phase_duration_seconds_count{phase="plan"} 5',
    'windowpane_phase_duration_seconds_sum{phase="lookup"} 0.001',
    'windowpane_phase_duration_seconds_count{phase="lookup"} 5',
    'windowpane_phase_duration_seconds_sum{phase="fetch"} 0.026',
    'windowpane_phase_duration_seconds_count{phase="fetch"} 3',
    'windowpane_phase_duration_seconds_sum{phase="reply"} 0.033',
    'windowpane_phase_duration_seconds_count{phase="reply"} 7',
    'windowpane_buckets_total{backend="main",source="cache"} 164',
    'windowpane_buckets_total{backend="main",source="origin"} 66',
    // A hit, nine tenths of the partial answer and the stale one; the rest of the former, the miss and the bypass.
    'windowpane_result_bytes_total{source="cache"} 17400',
    'windowpane_result_bytes_total{source="origin"} 6700',
    'windowpane_origin_requests_total{backend="main",status="2xx"} 1',
    'windowpane_origin_requests_total{backend="main",status="4xx"} 1',
    'windowpane_origin_requests_total{backend="main",status="unreachable"} 1',
    'windowpane_origin_duration_seconds_sum{backend="main"} 0.04',
    'windowpane_origin_duration_seconds_count{backend="main"} 2',
    'windowpane_origin_queries_saved_total{backend="main"} 1',
    'windowpane_origin_interval_seconds_total{kind="asked"} 18000',
    'windowpane_origin_interval_seconds_total{kind="fetched"} 960',
    'windowpane_served_age_seconds_sum 447',
    'windowpane_served_age_seconds_count 3',
    'windowpane_singleflight_joined_total 1',
    'windowpane_requests_in_flight 4',
    'windowpane_flights 2',
    'windowpane_memory_used_bytes 5000',
    'windowpane_memory_limit_bytes 10000',
    'windowpane_store_entries{store="memory"} 3',
    'windowpane_store_entries{store="odd \\"name\\"\\\\\\n"} 1',
    'windowpane_store_bytes{store="memory"} 4096',
    'windowpane_store_limit_bytes{store="disk"} 9000',
    'windowpane_store_degraded{store="disk"} 1',
    'windowpane_store_failures_total{store="disk"} 7',
    'windowpane_store_dropped_total{store="disk"} 5',
    'windowpane_store_found_total{store="disk"} 3',
    'windowpane_store_throttled_total{store="disk"} 6',
    'windowpane_store_refused_requests_total{store="disk"} 2',
    'windowpane_store_expired_rows_total{store="disk"} 9',
    'windowpane_store_breaker_state{store="disk",state="open"} 1',
    'windowpane_store_breaker_transitions_total{store="disk",to="closed"} 1',
    'windowpane_store_breaker_transitions_total{store="disk",to="open"} 2',
    'windowpane_store_breaker_transitions_total{store="disk",to="half_open"} 1',
    'windowpane_evictions_total{store="memory",reason="memory"} 2',
    'windowpane_evictions_total{store="memory",reason="expired"} 1',
    'windowpane_store_operation_duration_seconds_sum{store="disk",op="read"} 0.0005',
    'windowpane_store_operation_duration_seconds_count{store="disk",op="read"} 1',
    'windowpane_leases_total{result="won"} 11',
    'windowpane_leases_total{result="waited"} 12',
    'windowpane_leases_total{result="expired"} 13',
    'windowpane_leases_total{result="unavailable"} 14',
    'windowpane_upstream_up{backend="main",upstream="http://a:9090/"} 1',
    'windowpane_segments_trusted{backend="main"} 1',
    'windowpane_segments_view_age_seconds{backend="main"} 4.5',
    'windowpane_segments_view_age_seconds{backend="other"} 99',
    'windowpane_segments_watched{backend="main"} 812',
    'windowpane_segments_marked_total{backend="main"} 3',
    'windowpane_staleness_ratio{backend="main",age="2m"} 0.02',
    'windowpane_staleness_low_ratio{backend="main",age="2m"} 0.005',
    ...['0s 1', '2m 0.04', '10m 1', '1h 1', '6h 1', '24h 1'].map(byAge('windowpane_staleness_high_ratio')),
    'windowpane_staleness_samples{backend="main",age="2m"} 250.5',
    'windowpane_staleness_error_ratio{backend="main",age="2m"} 0.125',
    'windowpane_staleness_budget_ratio{backend="main"} 0.01',
    'windowpane_staleness_bound{backend="main",age="0s",by="floor"} 1',
    'windowpane_staleness_bound{backend="main",age="24h",by="cap"} 1',
    ...['0s 5', '2m 12.5', '10m 86400', '1h 86400', '6h 86400', '24h 86400'].map(
      byAge('windowpane_learned_ttl_seconds'),
    ),
    'windowpane_refetched_buckets_total{backend="main",result="same"} 900',
    'windowpane_refetched_buckets_total{backend="main",result="changed"} 100',
    ...['sample', 'sentinel', 'refresh'].flatMap((kind, i) =>
      ['same', 'changed', 'failed'].map(
        (result, j) =>
          `windowpane_probes_total{backend="main",kind="${kind}",result="${result}"} ${21 + 3 * i + j}`,
      ),
    ),
    'windowpane_learning_events_dropped_total{backend="main"} 6',
    'windowpane_queue_length{backend="main"} 31',
    'windowpane_queue_waited_total{backend="main"} 32',
    'windowpane_queue_wait_seconds_total{backend="main"} 33.5',
    'windowpane_queue_refused_total{backend="main"} 34',
    'windowpane_quota_permits_total{backend="main",result="counted"} 9',
    'windowpane_quota_permits_total{backend="main",result="degraded"} 36',
    ...['enforced', 'dry_run'].flatMap((mode, i) =>
      ['requests', 'cost', 'points'].map(
        (limit, j) =>
          `windowpane_quota_refusals_total{backend="main",limit="${limit}",mode="${mode}"} ${37 + 3 * i + j}`,
      ),
    ),
    'windowpane_fleet_nodes{state="up"} 3',
    'windowpane_fleet_nodes{state="missing"} 1',
    'windowpane_fleet_connected 1',
    'windowpane_trace_spans_sent_total 8',
    'windowpane_trace_spans_dropped_total 3',
    'process_cpu_seconds_total 1.5',
    `process_start_time_seconds ${NOW / 1000 - 60}`,
    'process_resident_memory_bytes 1000',
    'nodejs_heap_size_used_bytes 500',
    'nodejs_external_memory_bytes 100',
    'nodejs_eventloop_lag_p99_seconds 0.002',
    'nodejs_eventloop_lag_max_seconds 0.01',
    `windowpane_config_last_reload_success_time_seconds ${NOW / 1000}`,
    'windowpane_build_info{version="1.2.3",node="NODE"} 1',
  ])
})

test('answers that may not be stored are counted by reason', () => {
  const metrics = newMetrics()
  const { decision } = visits.partial
  for (const unstored of ['vary', 'vary', 'private'] as const) {
    metrics.observe(recordOf('main', { ...visits.partial, decision: { ...decision, unstored } }))
  }
  const counted = render(metrics).match(/^windowpane_unstored_total\{.* [1-9]\d*$/gm)
  assert.deepEqual(counted, [
    'windowpane_unstored_total{backend="main",reason="private"} 1',
    'windowpane_unstored_total{backend="main",reason="vary"} 2',
  ])
})

test('every family is announced once, with its type and help, and nothing else', () => {
  const metrics = newMetrics()
  metrics.announce('main')
  assert.deepEqual(
    new Set(parse(render(metrics)).keys()),
    new Set(Object.values(families).map(({ name }) => name)),
  )
})

test('labels and their values equal those of the reference', () => {
  const metrics = newMetrics()
  for (const visit of Object.values(visits)) metrics.observe(recordOf('main', visit))
  metrics.observeStore('disk', 'write', 1)
  const shown = parse(render(metrics))
  for (const { name, labels: listed } of Object.values<Family>(families)) {
    for (const { labels } of shown.get(name)!) {
      const { le: _, ...own } = labels
      assert.deepEqual(Object.keys(own).sort(), Object.keys(listed).sort(), name)
      for (const [label, value] of Object.entries(own)) {
        const values = listed[label]!
        if (typeof values === 'string') continue
        const known: readonly string[] = Array.isArray(values) ? values : Object.keys(values)
        assert.ok(known.includes(value), `${name}{${label}="${value}"}`)
      }
    }
  }
})

test('the number of stores is bounded', () => {
  const metrics = newMetrics()
  for (let i = 0; i < 100; i++) metrics.observeStore(`store ${i}`, 'read', 1)
  const samples = parse(render(metrics)).get(families.storeOperation.name)!
  assert.equal(new Set(samples.map(({ labels }) => labels['store'])).size, 33)
})

test('histograms are cumulative, end in +Inf, and resolve hits of a tenth of a millisecond', () => {
  const metrics = newMetrics()
  for (const totalMs of [0.09, 0.2, 0.2, 3, 120_000]) {
    metrics.observe(recordOf('main', { ...visits.hit, totalMs }))
  }
  const hits = parse(render(metrics))
    .get(families.duration.name)!
    .filter(({ name, labels }) => name.endsWith('_bucket') && labels['outcome'] === 'hit')
  const counts = new Map(hits.map(({ labels, value }) => [labels['le'], value]))
  assert.deepEqual([counts.get('0.0001'), counts.get('0.00025'), counts.get('0.0025')], [1, 3, 3])
  assert.deepEqual([counts.get('0.005'), counts.get('60'), counts.get('+Inf')], [4, 4, 5])
})

test('no request can make a new series', () => {
  const metrics = newMetrics()
  metrics.observe(recordOf('main', visits.hit))
  const count = () => [...parse(render(metrics)).values()].reduce((sum, samples) => sum + samples.length, 0)
  const before = count()
  for (let i = 0; i < 500; i++) {
    const odd = `x"} ${i}\n`
    const visit = sampleVisit(
      { outcome: 'bypass', reason: odd as 'stats', detail: odd, key: odd, upstreamStatus: 100 + i },
      { plan: { ...samplePlan, shape: odd }, path: odd, method: odd, isForwarded: true, status: i },
    )
    metrics.observe(recordOf('main', visit))
  }
  assert.equal(count(), before)
  const unknown = parse(render(metrics)).get(families.requests.name)!
  assert.equal(unknown.length, outcomeReasons.length)
  assert.equal(unknown.find(({ labels }) => labels['reason'] === 'internal')!.value, 500)
})

test('the number of databases is bounded too', () => {
  const metrics = newMetrics()
  for (let i = 0; i < 200; i++) metrics.observe(recordOf(`db ${i}`, visits.hit))
  const samples = parse(render(metrics)).get(families.requests.name)!
  assert.equal(new Set(samples.map(({ labels }) => labels['backend'])).size, 65)
  assert.equal(
    samples.reduce((sum, { value }) => sum + value, 0),
    200,
  )
})

test('a reload that failed leaves the time of the last good one', async () => {
  const clock = fakeClock(NOW)
  const metrics = new Metrics({ clock, version: '1' })
  await clock.advance(5000)
  metrics.noteReload(true)
  await clock.advance(5000)
  metrics.noteReload(false)
  const shown = parse(render(metrics))
  assert.equal(shown.get(families.reloadOk.name)![0]!.value, 0)
  assert.equal(shown.get(families.reloadTime.name)![0]!.value, NOW / 1000 + 5)
})

test('closed connections are counted by reason, and every reason is there from the beginning', () => {
  const metrics = newMetrics()
  metrics.observeCut('slow_sender')
  metrics.observeCut('slow_sender', 2)
  const text = [...metrics.render()].join('')
  assert.match(text, /^windowpane_connections_cut_total\{reason="slow_sender"\} 3$/m)
  assert.match(text, /^windowpane_connections_cut_total\{reason="held_connection"\} 0$/m)
})

test('the groups of ages have the names of the ages that they begin with', () => {
  const unit = { s: 1000, m: 60_000, h: 3_600_000 }
  const begins = ageGroups.map((name) => Number.parseInt(name, 10) * unit[name.at(-1) as 's' | 'm' | 'h'])
  // The first one has the buckets that are not over yet, too.
  assert.deepEqual(begins, [0, ...stalenessGroups.slice(1)])
})

test('without a staleness budget there are no metrics of it', () => {
  const metrics = new Metrics({ clock: fakeClock(NOW), version: '1', sources: { learned: () => [] } })
  assert.doesNotMatch(render(metrics), /^windowpane_(staleness|learn|probes|refetched)/m)
})
