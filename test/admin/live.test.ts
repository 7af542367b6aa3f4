import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, askPlainly, type RawClient, rawClient, steady, until } from '../proxy/client.ts'
import { visits } from '../rigs/visits.ts'
import { form, startProxyRig } from './proxy-rig.ts'

async function follow(admin: string, path = '/-/requests', headers = ''): Promise<RawClient> {
  const client = await rawClient(admin)
  client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n${headers}\r\n`)
  await client.has('\r\n\r\n')
  return client
}

const events = (client: RawClient): Record<string, unknown>[] =>
  [
    ...client
      .received()
      .toString()
      .matchAll(/^data: (\{"id".*\})$/gm),
  ].map(([, text]) => JSON.parse(text!))

test('requests are streamed as they are answered', async (t) => {
  const { admin, url, clock } = await startProxyRig(t)
  const client = await follow(admin, '/-/requests?outcome=hit')
  assert.match(client.received().toString(), /content-type: text\/event-stream/i)
  await ask(url, `/api/v1/query_range?${form(30)}`)
  await ask(url, `/api/v1/query_range?${form(30)}`)
  assert.equal(events(client).length, 0)
  await clock.advance(200)
  await until(() => events(client).length === 1)
  const [hit] = events(client)
  assert.deepEqual([hit!['outcome'], hit!['id'], hit!['backend']], ['hit', 2, 'main'])
  client.socket.destroy()
})

test('a reader that comes back gets the missed requests', async (t) => {
  const { admin, telemetry } = await startProxyRig(t)
  const hooks = telemetry.hooks('main')
  for (let i = 0; i < 5; i++) hooks.observe(visits.hit)
  const client = await follow(admin, '/-/requests', 'Last-Event-ID: 3\r\n')
  await until(() => events(client).length === 2)
  assert.deepEqual(
    events(client).map(({ id }) => id),
    [4, 5],
  )
  client.socket.destroy()
})

test('HEAD opens no stream: it is answered at once and reads nothing along', async (t) => {
  const { admin, telemetry } = await startProxyRig(t)
  const answer = await askPlainly(admin, '/-/requests', {
    method: 'HEAD',
    headers: { accept: 'text/event-stream' },
  })
  assert.deepEqual([answer.status, telemetry.recorder.subscribers], [200, 0])
})

test('a quiet stream is kept alive', async (t) => {
  const { admin, clock } = await startProxyRig(t)
  const client = await follow(admin)
  await clock.advance(15_000)
  await client.has(': beat\n')
  client.socket.destroy()
})

test('requests beyond the limit of one write are counted instead', async (t) => {
  const { admin, clock, telemetry } = await startProxyRig(t)
  const hooks = telemetry.hooks('main')
  const client = await follow(admin)
  for (let i = 0; i < 1000; i++) hooks.observe(visits.hit)
  await clock.advance(200)
  await client.has('event: skipped\ndata: {"count":800}')
  assert.equal(events(client).length, 200)
  client.socket.destroy()
})

test('readers are not too many, and disconnected ones make room', async (t) => {
  const { admin, telemetry } = await startProxyRig(t)
  const clients = await Promise.all(Array.from({ length: 16 }, () => follow(admin)))
  const headers = { accept: 'text/event-stream' }
  assert.equal((await askPlainly(admin, '/-/requests', { headers })).status, 503)
  for (const client of clients) client.socket.destroy()
  await until(() => telemetry.recorder.subscribers === 0)
  const client = await follow(admin)
  assert.match(client.received().toString(), /^HTTP\/1\.1 200/)
  client.socket.destroy()
})

test('a reader that does not read is dropped, and holds nothing', async (t) => {
  const { admin, clock, telemetry } = await startProxyRig(t)
  const hooks = telemetry.hooks('main')
  const client = await follow(admin)
  client.socket.pause()
  for (let i = 0; i < 2000 && telemetry.recorder.subscribers > 0; i++) {
    for (let j = 0; j < 200; j++) hooks.observe(visits.partial)
    await clock.advance(200)
    if (i % 10 === 0) await steady(() => client.socket.bytesRead)
  }
  await until(() => telemetry.recorder.subscribers === 0)
  client.socket.destroy()
})

test('closing ends the streams', async (t) => {
  const { admin } = await startProxyRig(t)
  const client = await follow(admin)
  t.after(async () => assert.ok((await client.closed).length > 0))
})
