/**
 * In front of a real Prometheus: every endpoint has its direct answer, the second time without a query, and also when
 * Prometheus is down.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { END, MINUTE } from '../data/dataset.ts'
import { requireServer, startOwnFixture } from '../data/fixture.ts'
import { type Answer, type Ask, ask, askPlainly, header, outcomeOf, statusOf } from '../proxy/client.ts'
import { startStand } from '../proxy/setup.ts'

const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const bounds = `start=${(END - 60 * MINUTE) / 1000}&end=${END / 1000}`
const instant = (query: string, at = END) =>
  `/api/v1/query?query=${encodeURIComponent(query)}&time=${at / 1000}`

/** By name: the request, and the handler that Prometheus counts it under. */
const kept: Record<string, [handler: string, path: string, given?: Ask]> = {
  labels: ['/api/v1/labels', '/api/v1/labels'],
  'labels of some series': ['/api/v1/labels', `/api/v1/labels?${bounds}&match[]=up`],
  'labels as POST': [
    '/api/v1/labels',
    '/api/v1/labels',
    { method: 'POST', headers: form, body: `${bounds}&match[]=up` },
  ],
  'label values': ['/api/v1/label/:name/values', '/api/v1/label/job/values'],
  'names of metrics': ['/api/v1/label/:name/values', `/api/v1/label/__name__/values?${bounds}`],
  'a list that is cut': ['/api/v1/label/:name/values', '/api/v1/label/__name__/values?limit=2'],
  series: ['/api/v1/series', `/api/v1/series?${bounds}&match[]=up&match[]=ramp_seconds`],
  'series as POST': [
    '/api/v1/series',
    '/api/v1/series',
    { method: 'POST', headers: form, body: `match[]=up&${bounds}` },
  ],
  metadata: ['/api/v1/metadata', '/api/v1/metadata?limit=10'],
  rules: ['/api/v1/rules', '/api/v1/rules?type=alert'],
  alerts: ['/api/v1/alerts', '/api/v1/alerts'],
  exemplars: ['/api/v1/query_exemplars', `/api/v1/query_exemplars?query=up&${bounds}`],
  'build info': ['/api/v1/status/buildinfo', '/api/v1/status/buildinfo'],
  flags: ['/api/v1/status/flags', '/api/v1/status/flags'],
}

const instants = [
  'up',
  'sum by (job) (up)',
  'scalar(ramp_seconds)',
  'count(up) or vector(0)',
  'up{job="none"}',
].map((query) => instant(query))

const text = ({ body }: Answer): string => body.toString()

test('every endpoint: the same as directly, and the second time from the cache', async (t) => {
  const prometheus = requireServer(t, await startOwnFixture())
  if (prometheus === null) return
  t.after(() => prometheus.stop())
  const clock = fakeClock(END)
  const { url } = await startStand(t, { upstream: prometheus.url, clock })
  const counted = (handler: string) => prometheus.metrics('prometheus_http_requests_total', { handler })
  let hits = 0
  for (const [name, [handler, path, given]] of Object.entries(kept)) {
    const direct = await askPlainly(prometheus.url, path, given)
    const first = await ask(url, path, given)
    const before = await counted(handler)
    const second = await ask(url, path, given)
    assert.match(outcomeOf(first), /^(miss\/absent|hit)$/, name)
    assert.equal(outcomeOf(second), 'hit', name)
    assert.deepEqual([first, second].map(text), [text(direct), text(direct)], name)
    assert.equal(header(second, 'content-type'), header(direct, 'content-type'))
    assert.equal(await counted(handler), before, `${name}: the second request reached the database`)
    hits++
  }
  assert.equal(hits, Object.keys(kept).length)
  for (const path of instants) {
    const answer = await ask(url, path)
    assert.equal(outcomeOf(answer), 'miss/absent', path)
    assert.equal(text(answer), text(await askPlainly(prometheus.url, path)), path)
  }
  const wrong = await ask(url, '/api/v1/query?query=up%7B')
  assert.deepEqual([wrong.status, outcomeOf(wrong)], [400, 'error/database_refused'])
  assert.equal(text(wrong), text(await askPlainly(prometheus.url, '/api/v1/query?query=up%7B')))
})

test('an outage: variables, tables and stats keep drawing, and are marked as stale', async (t) => {
  const prometheus = requireServer(t, await startOwnFixture())
  if (prometheus === null) return
  const clock = fakeClock(END)
  const { url } = await startStand(t, { upstream: prometheus.url, clock })
  const paths = [kept['labels']!, kept['label values']!, kept['series']!, kept['metadata']!].map(
    ([, path]) => path,
  )
  const shown = await Promise.all([...paths, ...instants].map((path) => ask(url, path)))
  await prometheus.stop()
  await clock.advance(14 * MINUTE)
  const later = [
    'up',
    'sum by (job) (up)',
    'scalar(ramp_seconds)',
    'count(up) or vector(0)',
    'up{job="none"}',
  ].map((query) => instant(query, END + 14 * MINUTE))
  for (const [i, path] of [...paths, ...later].entries()) {
    const answer = await ask(url, path)
    assert.equal(answer.status, 200, path)
    assert.equal(text(answer), text(shown[i]!), path)
    assert.ok(
      Number(statusOf(answer).parameters.get('ttl')) < 0,
      `${path}: ${header(answer, 'cache-status')}`,
    )
    assert.equal(header(answer, 'age'), '840')
    if (!path.includes('metadata')) assert.equal(outcomeOf(answer), 'stale/database_unreachable', path)
  }
  assert.equal((await ask(url, '/api/v1/labels?match[]=never_seen')).status, 502)
})
