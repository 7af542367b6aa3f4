/** Traces from the client through Windowpane to the database, as a collector sees them. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { fetchChannel, requestChannel } from '../../src/telemetry/channels.ts'
import { recordOf } from '../../src/telemetry/record.ts'
import type { OtlpSpan } from '../../src/telemetry/tracing-otlp.ts'
import { ask, outcomeOf, until } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { sent } from '../proxy/scripted-upstream.ts'
import { visits } from '../rigs/visits.ts'
import { attribute } from './collector.ts'
import { NOW, startTracedProxy } from './proxy-rig.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const clientSpan = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${clientSpan}-01`
const path = rangePath({ start: NOW - 3_600_000, end: NOW - 600_000 })

const kindOf = ({ kind }: OtlpSpan): string => ['', 'phase', 'server', 'client'][kind]!
const only = (spans: readonly OtlpSpan[], kind: string): OtlpSpan => {
  const found = spans.filter((span) => kindOf(span) === kind)
  assert.equal(found.length, 1, `${found.length} spans of a ${kind}`)
  return found[0]!
}

test("a client's trace goes through Windowpane to the database, and all its spans to the collector", async (t) => {
  const proxy = await startTracedProxy(t)
  const miss = await ask(proxy.url, path, { headers: { traceparent, tracestate: 'vendor=1' } })
  assert.equal(outcomeOf(miss), 'miss/absent')
  await proxy.flush()
  const { spans, requests } = proxy.collector
  assert.deepEqual(
    [requests[0]!.path, requests[0]!.headers['content-type']],
    ['/v1/traces', 'application/json'],
  )
  const [server, client] = [only(spans, 'server'), only(spans, 'client')]
  assert.ok(spans.every((span) => span.traceId === traceId && span.traceState === 'vendor=1'))
  assert.equal(server.parentSpanId, clientSpan)
  for (const span of spans) if (span !== server) assert.equal(span.parentSpanId, server.spanId)
  const [seen] = proxy.upstream.seen
  assert.deepEqual(sent(seen!, 'traceparent'), [`00-${traceId}-${client.spanId}-01`])
  assert.deepEqual(sent(seen!, 'tracestate'), ['vendor=1'])
  assert.deepEqual(
    ['windowpane.outcome', 'windowpane.reason', 'windowpane.asked'].map((name) => attribute(server, name)),
    ['miss', 'absent', '51'],
  )
  assert.equal(attribute(client, 'server.port'), String(proxy.upstream.port))
  const names = spans.filter((span) => kindOf(span) === 'phase').map(({ name }) => name)
  assert.deepEqual(names.slice(0, 2), ['plan', 'lookup'])
})

test('a hit sends no query, and is a span without a client of its own', async (t) => {
  const proxy = await startTracedProxy(t)
  await ask(proxy.url, path, { headers: { traceparent: `00-${traceId}-${clientSpan}-00` } })
  assert.equal(outcomeOf(await ask(proxy.url, path)), 'hit')
  await proxy.flush()
  const { spans } = proxy.collector
  const server = only(spans, 'server')
  assert.equal(attribute(server, 'windowpane.outcome'), 'hit')
  assert.deepEqual([server.parentSpanId, server.traceId === traceId], [undefined, false])
  assert.equal(spans.filter((span) => kindOf(span) === 'client').length, 0)
})

test('a request that a client does not sample is forwarded unchanged, and not exported', async (t) => {
  const proxy = await startTracedProxy(t)
  const unsampled = `00-${traceId}-${clientSpan}-00`
  await ask(proxy.url, path, { headers: { traceparent: unsampled, tracestate: 'vendor=1' } })
  assert.deepEqual(sent(proxy.upstream.seen[0]!, 'traceparent'), [unsampled])
  assert.deepEqual(proxy.exporter.figures, { sent: 0, dropped: 0, queued: 0 })
})

test('a ratio of nothing traces nothing that clients do not trace', async (t) => {
  const proxy = await startTracedProxy(t)
  proxy.sampleRatio = 0
  await ask(proxy.url, path)
  assert.deepEqual(sent(proxy.upstream.seen[0]!, 'traceparent'), [])
  assert.equal(proxy.exporter.figures.queued, 0)
  await ask(proxy.url, '/api/v1/labels', { headers: { traceparent } })
  assert.ok(proxy.exporter.figures.queued > 0)
})

test('a forwarded request is traced too, and a broken traceparent is replaced', async (t) => {
  const proxy = await startTracedProxy(t)
  await ask(proxy.url, '/api/v1/labels', { headers: { traceparent: 'garbage', tracestate: 'vendor=1' } })
  await proxy.flush()
  const [server, client] = [only(proxy.collector.spans, 'server'), only(proxy.collector.spans, 'client')]
  assert.deepEqual([server.parentSpanId, client.parentSpanId], [undefined, server.spanId])
  assert.equal(server.name, 'GET')
  assert.deepEqual(sent(proxy.upstream.seen[0]!, 'traceparent'), [`00-${server.traceId}-${client.spanId}-01`])
  assert.deepEqual(sent(proxy.upstream.seen[0]!, 'tracestate'), [])
})

test('a database that breaks off is a failed span of its query and of the request', async (t) => {
  const proxy = await startTracedProxy(t)
  proxy.upstream.script = (request) => void request.socket.destroy()
  assert.equal((await ask(proxy.url, path)).status, 502)
  await proxy.flush()
  const [server, client] = [only(proxy.collector.spans, 'server'), only(proxy.collector.spans, 'client')]
  assert.deepEqual(
    [server.status, client.status],
    [server, client].map(() => ({ code: 2, message: 'database_unreachable' })),
  )
  assert.equal(attribute(server, 'http.response.status_code'), '502')
})

test('a collector that is down, or refuses, is nothing that a client can see', async (t) => {
  const proxy = await startTracedProxy(t)
  proxy.collector.status = 400
  assert.equal((await ask(proxy.url, path)).status, 200)
  await proxy.flush()
  const refused = proxy.exporter.figures.dropped
  assert.ok(refused > 0)
  await proxy.collector.close()
  for (let i = 0; i < 50; i++) {
    assert.equal((await ask(proxy.url, path)).status, 200)
    await proxy.clock.advance(100)
  }
  // By now it has been tried, and found to be down.
  await until(() => proxy.failures() > 0)
  assert.equal(outcomeOf(await ask(proxy.url, '/api/v1/labels')), 'bypass/not_a_range_query')
  const { sent: taken, dropped, queued } = proxy.exporter.figures
  assert.deepEqual([taken, dropped], [0, refused])
  assert.ok(queued >= 51 * 2, `${queued} spans wait`)
})

test('without a listener nothing is traced, and the header of a client is left as it is', async (t) => {
  const proxy = await startTracedProxy(t)
  await proxy.exporter.close()
  assert.deepEqual([requestChannel.hasSubscribers, fetchChannel.hasSubscribers], [false, false])
  await ask(proxy.url, path, { headers: { traceparent } })
  await ask(proxy.url, rangePath({ start: NOW - 7_200_000, end: NOW - 600_000, stepMs: 300_000 }))
  assert.deepEqual(
    proxy.upstream.seen.map((seen) => sent(seen, 'traceparent')),
    [[traceparent], []],
  )
})

test('a client that leaves ends the span of the query that was for it alone', async (t) => {
  const proxy = await startTracedProxy(t)
  proxy.upstream.script = () => {}
  const gone = new AbortController()
  const asked = proxy.upstream.next()
  const answer = fetch(proxy.url + path, { signal: gone.signal, headers: { traceparent } })
  await asked
  gone.abort()
  await assert.rejects(answer)
  await until(() => proxy.exporter.figures.queued >= 2)
  await proxy.flush()
  assert.equal(attribute(only(proxy.collector.spans, 'client'), 'error.type'), 'given_up')
  assert.equal(attribute(only(proxy.collector.spans, 'server'), 'windowpane.reason'), 'client_gone')
})

test('the page lists every attribute and every channel', async (t) => {
  const proxy = await startTracedProxy(t)
  await ask(proxy.url, path)
  proxy.upstream.script = (request) => void request.socket.destroy()
  await ask(proxy.url, '/api/v1/labels')
  await proxy.flush()
  const page = await readFile('docs/reference/tracing.md', 'utf8')
  const names = proxy.collector.spans.flatMap(({ attributes }) => attributes.map(({ key }) => key))
  for (const name of [...new Set(names), 'windowpane:request', 'windowpane:fetch'])
    assert.ok(page.includes(`\`${name}\``), `${name} is not in docs/reference/tracing.md`)
  for (const name of Object.keys(recordOf('main', visits.hit)))
    assert.ok(page.includes(`\`${name}\``), `${name} is not in the page`)
  for (const [, name] of page.matchAll(/^\| `((?:windowpane|http|url|server|error)\.[\w.]+)`/gm))
    assert.ok(names.includes(name!), `no span has ${name}`)
})
