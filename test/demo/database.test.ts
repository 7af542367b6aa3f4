/** The demo database: a world that is consistent with itself, printed as Prometheus prints, where some samples are late. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { WireRequest } from '../../src/backends/backend.ts'
import { flavour } from '../../src/backends/prometheus/flavour.ts'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { longestLatenessMs } from '../../src/demo/arrivals.ts'
import { DemoDatabase, probeHeader } from '../../src/demo/database.ts'
import { printMatrix, printNumber } from '../../src/demo/print.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { pick, wholeNumber } from '../../src/testing/random.ts'
import { testBackend } from '../../src/testing/test-backend.ts'

const minute = 60_000
const hour = 60 * minute
const now = Date.UTC(2026, 0, 15, 12)

const queries = [
  'room_temperature_celsius',
  'http_requests_total{job="checkout"}',
  'up{job!="search"}',
  'rate(http_requests_total{code="500"}[5m])',
  'sum by (job) (rate(http_requests_total[1m]))',
  'avg(queue_depth) by (job)',
  'max(process_resident_memory_bytes)',
  'unheard_of',
]

function rangeRequest(query: string, range: { start: number; end: number; step: number }): WireRequest {
  const text = {
    query,
    start: `${range.start / 1000}`,
    end: `${range.end / 1000}`,
    step: `${range.step / 1000}`,
  }
  const search = new URLSearchParams(text).toString()
  return { method: 'GET', path: '/api/v1/query_range', search, headers: [], body: new Uint8Array() }
}

const request = (path: string, search = ''): WireRequest => ({
  ...{ method: 'GET', path, search, headers: [], body: new Uint8Array() },
})

/** One database per seed; its clock stands still, so that all parts of a query are sent at the same instant. */
const worlds = new Map<number, DemoDatabase>()
function world(seed: number): DemoDatabase {
  const database = worlds.get(seed) ?? new DemoDatabase({ clock: fakeClock(now), seed })
  worlds.set(seed, database)
  return database
}

const backend = prometheus({ settledAgeMs: hour, maxBuckets: 11_001 })

testBackend({
  backend,
  now,
  rounds: 40,
  request(random) {
    const step = pick(random, [7_000, 15_000, 60_000, 300_000])
    const end = now - wholeNumber(random, 0, 4) * hour
    const start = end - wholeNumber(random, 0, 40) * step
    return rangeRequest(pick(random, queries), { start, end, step })
  },
  answer: (seed, plan, intervals) => Buffer.from(world(seed).answer(backend.narrow(plan, intervals)).body),
  equivalent: [],
  different: [],
})

test('it is recognised as Prometheus 3', () => {
  const { status, body } = world(1).answer(request('/api/v1/status/buildinfo'))
  assert.deepEqual(flavour.read(status, body), { isKnown: true, label: 'Prometheus 3.5.0', version: [3, 5] })
})

test('numbers are printed as Go prints them', () => {
  const printed = [1e-7, 1.5e-10, 1e-6, 0.1 + 0.2, 1e20, 1e21, -0, Number.POSITIVE_INFINITY].map(printNumber)
  const expected = [
    '1e-07',
    '1.5e-10',
    '0.000001',
    '0.30000000000000004',
    '100000000000000000000',
    '1e+21',
    '-0',
    '+Inf',
  ]
  assert.deepEqual(printed, expected)
})

test('late samples appear, after a while none do any more, and every change is known beforehand', () => {
  const database = world(1)
  const question = {
    query: 'sum by (job) (rate(http_requests_total[1m]))',
    start: now - hour,
    end: now,
    stepMs: 15_000,
  }
  const said = (knownAt: number): string => printMatrix(database.truth(question, knownAt)!)
  const settled = said(now + longestLatenessMs)
  assert.notEqual(said(now), settled)
  assert.equal(said(now + 10 * longestLatenessMs), settled)
  const lastMinutes = { ...question, start: now - 3 * minute, end: now - 3 * minute }
  const versions = new Set<string>()
  for (const at of database.changes(question.query, lastMinutes.start, now + longestLatenessMs)) {
    const before = printMatrix(database.truth(lastMinutes, at - 1)!)
    const between = printMatrix(database.truth(lastMinutes, at)!)
    versions.add(before).add(between)
  }
  assert.ok(versions.size > 1)
})

test('between two known changes nothing changes', () => {
  const database = world(2)
  const query = 'room_temperature_celsius'
  const instant = { query, start: now, end: now, stepMs: 1000 }
  const changes = database.changes(query, now, now + longestLatenessMs).reverse()
  let before = ''
  for (let at = now - 6 * minute; at < now + longestLatenessMs; at += 500) {
    const said = printMatrix(database.truth(instant, at)!)
    const isChangeKnown = changes.some((change) => change > at - 500 && change <= at)
    assert.ok(said === before || isChangeKnown || before === '', `changed unannounced before ${at - now}`)
    before = said
  }
})

test('a release replaces the pods: old series end, new ones begin', () => {
  const question = { query: 'up{job="checkout"}', start: now - 24 * hour, end: now - hour, stepMs: minute }
  const { rows } = world(1).truth(question, now)!
  assert.ok(rows.length > 2 * 3, `${rows.length} pods`)
  for (let step = 0; step < rows[0]!.values.length; step++) {
    const alive = rows.filter(({ values }) => !Number.isNaN(values[step])).length
    assert.ok(alive >= 2 && alive <= 4, `${alive} pods at step ${step}`)
  }
})

test('more points cost more; a probe is not load', () => {
  const database = new DemoDatabase({ clock: fakeClock(now) })
  const range = { start: now - 9 * minute, end: now, step: minute }
  const narrow = database.answer(rangeRequest('queue_depth{job="search"}', range))
  const wide = database.answer(rangeRequest('queue_depth', range))
  assert.deepEqual([narrow.costMs, wide.costMs], [6 + 0.02 * 10, 6 + 0.02 * 30])
  database.answer({ ...rangeRequest('queue_depth', range), headers: [probeHeader, '1'] })
  assert.deepEqual(database.load, { bucketSeconds: 2 * 10 * 60 })
})

test('an unsupported query is refused in the form of Prometheus', () => {
  const range = { start: now - hour, end: now, step: minute }
  const refused = [
    'histogram_quantile(0.9, x)',
    'a + b',
    'up{job=~"x"}',
    'rate(up)',
    'sum(',
    '',
    'up[5m]',
    'up offset 5m',
    'up{job="a\\n"}',
    'sum without (job) (up)',
    'sum(up, up)',
    'quantile(up)',
    '1 - 1',
    '(up)',
  ]
  for (const query of refused) {
    const { status, body } = world(1).answer(rangeRequest(query, range))
    const answer = JSON.parse(body) as { status: string; errorType: string; error: string }
    assert.deepEqual([status, answer.status, answer.errorType], [400, 'error', 'bad_data'], query)
  }
  assert.equal(world(1).answer(rangeRequest('up', { ...range, end: range.start - 1 })).status, 400)
  assert.equal(world(1).answer(request('/api/v1/rules')).status, 404)
})

test('the first requests of a Grafana data source are answered', () => {
  const asked = (path: string, search = ''): unknown =>
    JSON.parse(world(1).answer(request(path, search)).body).data
  assert.deepEqual(asked('/api/v1/query', `query=1%2B1&time=${now / 1000}`), {
    resultType: 'scalar',
    result: [now / 1000, '2'],
  })
  assert.deepEqual(asked('/api/v1/labels'), ['__name__', 'code', 'floor', 'instance', 'job', 'room'])
  assert.deepEqual(asked('/api/v1/label/job/values'), ['catalog', 'checkout', 'search'])
  const { result } = asked('/api/v1/query', `query=queue_depth&time=${now / 1000}`) as { result: unknown[] }
  assert.equal(result.length, 3)
})
