import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, rawClient, until } from '../proxy/client.ts'
import { form, startProxyRig } from './proxy-rig.ts'

const MiB = 1024 * 1024

const list = (proxy: Awaited<ReturnType<typeof startProxyRig>>) =>
  proxy.telemetry.recorder.list({}, { limit: 10 }).map(({ record }) => record)

test('a client that disconnects during the query', async (t) => {
  const proxy = await startProxyRig(t)
  proxy.upstream.script = () => {}
  const client = await rawClient(proxy.url)
  client.write(`GET /api/v1/query_range?${form(30)} HTTP/1.1\r\nHost: x\r\n\r\n`)
  await proxy.upstream.next()
  client.socket.destroy()
  await until(() => list(proxy).length === 1)
  const { outcome, reason, status, bytes, key } = list(proxy)[0]!
  assert.deepEqual([outcome, reason, status, bytes, key?.length], ['error', 'client_gone', 0, 0, 43])
  const text = [...proxy.telemetry.metrics.render()].join('')
  assert.match(text, /origin_requests_total\{backend="main",status="abandoned"\} 1/)
})

test('a database that breaks off while its answer is passed on', async (t) => {
  const proxy = await startProxyRig(t)
  proxy.upstream.script = (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '100' })
    response.write('{"status":')
    queueMicrotask(() => response.socket?.end())
  }
  for (const path of ['/api/v1/labels', `/api/v1/query_range?${form(30)}`]) {
    const client = await rawClient(proxy.url)
    client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await client.closed
  }
  await until(() => list(proxy).length === 2)
  for (const { outcome, reason } of list(proxy)) {
    assert.deepEqual([outcome, reason], ['error', 'database_unreachable'])
  }
})

test('a query whose answer is given up and then breaks off is one query', async (t) => {
  const proxy = await startProxyRig(t)
  proxy.upstream.script = (_request, response) => {
    // A refusal that is too long to keep.
    response.writeHead(400, { 'Content-Type': 'text/plain', 'Content-Length': String(4 * MiB) })
    response.write(Buffer.alloc(2 * MiB), () => response.socket?.end())
  }
  const client = await rawClient(proxy.url)
  client.write(`GET /api/v1/query_range?${form(30)} HTTP/1.1\r\nHost: x\r\n\r\n`)
  await client.closed
  await until(() => list(proxy).length === 1)
  const text = [...proxy.telemetry.metrics.render()].join('')
  const counts = [...text.matchAll(/^windowpane_origin_requests_total\{.*\} (\d+)$/gm)].map(([, n]) =>
    Number(n),
  )
  assert.equal(
    counts.reduce((a, b) => a + b),
    1,
    text,
  )
})

test('concurrent requests: one query for all of them', async (t) => {
  const proxy = await startProxyRig(t)
  const path = `/api/v1/query_range?${form(30)}`
  const script = proxy.upstream.script
  const held: (() => void)[] = []
  proxy.upstream.script = (request, response) => void held.push(() => script(request, response))
  const asked = proxy.upstream.next()
  const answers = [1, 2, 3].map(() => ask(proxy.url, path))
  await asked
  await until(() => held.length === 1)
  held[0]!()
  await Promise.all(answers)
  const records = list(proxy)
  const outcomes = records.map(({ outcome, isCollapsed }) => `${outcome}${isCollapsed ? ' joined' : ''}`)
  assert.equal(
    records.reduce((sum, { asked: buckets }) => sum + buckets, 0),
    30,
  )
  assert.equal(outcomes.filter((outcome) => outcome === 'miss').length, 1, outcomes.join())
})

test('an observer that fails breaks nothing', async (t) => {
  const proxy = await startProxyRig(t)
  proxy.telemetry.recorder.subscribe({}, () => {
    throw new Error('broken console')
  })
  assert.equal((await ask(proxy.url, `/api/v1/query_range?${form(30)}`)).status, 200)
  assert.equal((await ask(proxy.url, `/api/v1/query_range?${form(30)}`)).status, 200)
})
