/** Queries that are expensive to parse: their planning is bounded, per client, and other clients' queries continue. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { druid } from '../../src/backends/druid/index.ts'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { ask, outcomeOf, rawClient } from '../proxy/client.ts'
import { rangeSearch } from '../proxy/matrix.ts'
import { bodyOf, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { NOW, oldRange, startStand } from '../proxy/setup.ts'

const KiB = 1024
const MiB = 2 ** 20

/** The parser's time for a new text, per byte: as measured for the slowest text of 32 KiB. */
const msPerByte = 50 / (32 * KiB)

/** A proxy whose clock advances by the time of parsing a new text. */
async function startSlowReader(t: TestContext) {
  const clock = fakeClock(NOW)
  let spent = 0
  const known = new Set<string>()
  const backend = prometheus({ settledAgeMs: 3_600_000, maxBuckets: 11_000 })
  const slow: typeof backend = {
    ...backend,
    plan(query, ...rest) {
      const { text } = query.question
      if (!known.has(text)) spent += text.length * msPerByte
      known.add(text)
      return backend.plan(query, ...rest)
    },
  }
  const upstream = await startScriptedUpstream(t)
  const slowClock = { ...clock, elapsed: () => clock.elapsed() + spent }
  const stand = await startStand(t, { upstream: upstream.url, backend: slow, clock: slowClock })
  return { ...stand, upstream, spentMs: () => spent }
}

const formOf = (query: string) => {
  const { start, end } = oldRange()
  return new URLSearchParams({ query, start: `${start / 1000}`, end: `${end / 1000}`, step: '60' })
}

const post = (url: string, query: string) => {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  return ask(url, '/api/v1/query_range', { method: 'POST', headers, body: formOf(query).toString() })
}

/** 32 KiB, each another text. */
const longQuery = (n: number) => `sum by (l${n},${'a,'.repeat(16_000)}b) (up)`

test('a client that sends ever new long queries has them forwarded, and other clients are unaffected', async (t) => {
  const { url, clock, spentMs } = await startSlowReader(t)
  const outcomes = new Map<string, number>()
  for (let i = 0; i < 100; i++) {
    const outcome = outcomeOf(await post(url, longQuery(i)))
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  // 2 s of planning at once, and the refill of these 2 s.
  assert.deepEqual([...outcomes.keys()], ['miss/absent', 'bypass/planning_budget'])
  assert.ok(spentMs() >= 2000 && spentMs() <= 2150, `${spentMs()} ms`)
  // The same client's short queries are planned and served from the cache all the same.
  assert.equal(outcomeOf(await post(url, 'up')), 'miss/absent')
  assert.equal(outcomeOf(await post(url, 'up')), 'hit')
  // A minute later long queries are planned again, stored ones are hits.
  await clock.advance(60_000)
  assert.equal(outcomeOf(await post(url, longQuery(0))), 'hit')
  assert.equal(outcomeOf(await post(url, longQuery(200))), 'miss/absent')
})

test('600 different panels never meet the bound, not even when each takes a millisecond', async (t) => {
  const { url } = await startSlowReader(t)
  for (let i = 0; i < 600; i++) {
    const panel = `sum by (job, instance) (rate(http_requests_total{job="service-${i}",code=~"${'5..|'.repeat(100)}4.."}[5m]))`
    assert.ok(panel.length > 450)
    const response = await fetch(`${url}/api/v1/query_range?${formOf(panel)}`)
    await response.arrayBuffer()
    assert.match(response.headers.get('cache-status')!, /detail="miss\/absent/)
  }
})

test('a query of 10 MiB is forwarded unread', async (t) => {
  const upstream = await startScriptedUpstream(t)
  upstream.script = async (request, response) => void response.end(String((await bodyOf(request)).length))
  const { url } = await startStand(t, { upstream: upstream.url })
  const answer = await post(url, 'x'.repeat(9 * MiB))
  assert.equal(outcomeOf(answer), 'bypass/unparseable_query')
  assert.ok(Number(answer.body.toString()) > 9 * MiB)
  const target = `/api/v1/query_range?${rangeSearch(oldRange())}&x=${'%61'.repeat(300_000)}`
  const client = await rawClient(url)
  client.write(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)
  await client.has('bypass/unparseable_query')
  client.socket.destroy()
})

const native = (filter: string) =>
  `{"queryType":"timeseries","dataSource":"wiki","granularity":"hour","intervals":"2026-01-01/P1D","aggregations":[],"filter":${filter}}`

/** Values that make the most of few bytes. */
const dense: readonly (readonly [string, string])[] = [
  ['empty lists', '[],'],
  ['empty objects', '{},'],
  ['objects', '{"":1},'],
  ['nested lists', '[[[[]]]],'],
  ['numbers', '1,'],
  ['escaped texts', '"\\n",'],
]

test('a native query of Druid is forwarded unread where it is too long, or has too many values', async (t) => {
  const upstream = await startScriptedUpstream(t)
  upstream.buildInfo = (_request, response) => void response.end()
  upstream.script = async (request, response) => {
    response.setHeader('Content-Type', 'application/json')
    if (request.url === '/status') response.end('{"version":"33.0.0","modules":[]}')
    else response.end(String((await bodyOf(request)).length))
  }
  const { url, budget } = await startStand(t, {
    upstream: upstream.url,
    backend: druid({ maxBuckets: 11_000 }),
  })
  const send = async (path: string, body: string) => {
    const answer = await ask(url, path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    })
    assert.equal(answer.body.toString(), String(body.length))
    return outcomeOf(answer)
  }
  for (const [what, item] of dense) {
    const list = (bytes: number) => `[${item.repeat(Math.floor(bytes / item.length)).slice(0, -1)}]`
    assert.equal(await send('/druid/v2', native(list(10 * MiB - 512))), 'bypass/unparseable_query', what)
    assert.equal(await send('/druid/v2', native(list(900 * KiB))), 'bypass/malformed_request', what)
    const sql = `{"query":"SELECT 1","parameters":${list(10 * MiB - 512)}}`
    assert.equal(await send('/druid/v2/sql', sql), 'bypass/unparseable_query', what)
  }
  assert.equal(budget.used, 0)
})
