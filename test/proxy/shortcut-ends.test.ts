/** Plain requests that are read without node:http: attacks by a client, and the state after the requests. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { garbageCollector } from '../../src/core/runtime.ts'
import { startServer } from '../../src/proxy/assembly/server.ts'
import type { ClientRequest, Reply } from '../../src/proxy/front/exchange.ts'
import { type Listener, openListener } from '../../src/proxy/front/listener.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { authority, needsOpenssl } from '../upstream/certificates.ts'
import { rawClient, steady, until } from './client.ts'
import { startScriptedUpstream } from './scripted-upstream.ts'
import { NOW } from './setup.ts'

const collectGarbage = garbageCollector()

type Answer = (request: ClientRequest, reply: Reply) => void

async function open(t: TestContext, answer: Answer): Promise<Listener & { readonly clock: FakeClock }> {
  const clock = fakeClock(NOW)
  const options = { address: '127.0.0.1:0', limits: defaultLimits, clock }
  const listener = await openListener(options, answer, answer)
  t.after(async () => {
    const closed = listener.close()
    await clock.advance(defaultLimits.drainMs)
    await closed
  })
  return { ...listener, clock }
}

function sendOf(reply: Reply, body: Uint8Array): void {
  const own = ['Content-Length', String(body.length)]
  if (reply.sendWhole?.(200, { given: [], own }, [body])) return
  reply.writeHead(200, own)
  reply.end(body)
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`
const post = (path: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`

/** A client that has requested a long answer, which it does not read, and two more behind it. */
async function askAhead(t: TestContext) {
  const asked: string[] = []
  const { url } = await open(t, ({ url: target = '' }, reply) => {
    asked.push(target)
    if (target === '/long') sendOf(reply, Buffer.alloc(32 << 20, 'x'))
  })
  const client = await rawClient(url)
  client.socket.pause()
  client.write(get('/long') + get('/later') + get('/last'))
  await until(() => asked.length > 0)
  return { url, asked, client }
}

test('requests behind an answer are dropped with a client that disconnects without having read it', async (t) => {
  const { url, asked, client } = await askAhead(t)
  await steady(() => client.socket.bytesRead)
  client.socket.resetAndDestroy()
  // The listener is still there for others.
  const other = await rawClient(url)
  other.write(get('/other'))
  await until(() => asked.includes('/other'))
  assert.deepEqual(asked, ['/long', '/other'])
  other.socket.destroy()
})

test('a client that half-closes behind its request gets its answer, and nothing after it', async (t) => {
  const { asked, client } = await askAhead(t)
  client.socket.end()
  await steady(() => client.socket.bytesRead)
  client.socket.resume()
  assert.ok((await client.closed).length > 32 << 20)
  assert.deepEqual(asked, ['/long'])
})

test('half a head, and then the end: refused, as node:http refuses it', async (t) => {
  const { url } = await open(t, (_request, reply) => sendOf(reply, Buffer.from('ok')))
  const first = await rawClient(url)
  first.socket.end('GET / HTTP/1.1\r\nHos')
  assert.match((await first.closed).toString(), /^HTTP\/1\.1 400 Bad Request\r\nConnection: close\r\n\r\n$/)
  const second = await rawClient(url)
  second.write(get('/'))
  await second.has('ok')
  second.socket.end('GET /')
  assert.match((await second.closed).toString(), /ok(?=HTTP\/1\.1 400 Bad Request)/)
})

test('half a head that comes with a whole request is waited for no longer than any other', async (t) => {
  const { url, clock } = await open(t, (_request, reply) => sendOf(reply, Buffer.from('ok')))
  const client = await rawClient(url)
  client.write(`${get('/')}GET /`)
  await client.has('ok')
  for (let seconds = 0; seconds < 70; seconds++) await clock.advance(1_000)
  assert.match((await client.closed).toString(), /ok(?=HTTP\/1\.1 408 Request Timeout)/)
})

for (const isApart of [false, true]) {
  const how = isApart ? 'later' : 'with the body'
  test(`an empty line that comes ${how} is not the beginning of a request: it is not waited for`, async (t) => {
    const { url, close } = await open(t, (_request, reply) => sendOf(reply, Buffer.from('ok')))
    const client = await rawClient(url)
    client.write(post('/', 'x') + (isApart ? '' : '\r\n'))
    await client.has('ok')
    if (isApart) client.write('\r\n')
    await steady(() => client.socket.bytesWritten)
    // The clock stands still: it is not the limit that ends it.
    await close()
    await client.closed
  })
}

test('an empty line within a head does not make it less of a beginning', async (t) => {
  const { url, close } = await open(t, (_request, reply) => sendOf(reply, Buffer.from('ok')))
  const client = await rawClient(url)
  client.write(`${post('/', 'x')}\r\n`)
  await client.has('ok')
  for (const piece of ['GET /late HTTP/1.1', '\r\n']) {
    client.write(piece)
    await steady(() => client.socket.bytesWritten)
  }
  const closing = close()
  client.write('Host: h\r\n\r\n')
  await closing
  assert.equal((await client.closed).toString().match(/ok/g)?.length, 2)
})

test('a reply that is over does not take the connection from the one after it', async (t) => {
  const replies: Reply[] = []
  const { url } = await open(t, (_request, reply) => void replies.push(reply))
  const client = await rawClient(url)
  client.write(get('/1'))
  await until(() => replies.length === 1)
  sendOf(replies[0]!, Buffer.from('first'))
  await client.has('first')
  await until(() => replies[0]!.closed)
  client.write(get('/2'))
  await until(() => replies.length === 2)
  replies[0]!.destroy()
  sendOf(replies[1]!, Buffer.from('second'))
  await client.has('second')
  client.socket.destroy()
})

test('a connection that waits for its next request keeps nothing of the last one', async (t) => {
  const kept: WeakRef<object>[] = []
  const { url } = await open(t, (request, reply) => {
    const listener = () => {}
    kept.push(new WeakRef(request), new WeakRef(listener))
    reply.once('close', listener)
    sendOf(reply, Buffer.from('ok'))
  })
  const client = await rawClient(url)
  client.write(post('/', 'x'.repeat(1000)))
  await client.has('ok')
  await until(() => {
    collectGarbage()
    return kept.every((each) => each.deref() === undefined)
  })
  assert.equal(kept.length, 2)
  client.socket.destroy()
})

test('a request that may have been carried out is not sent to a second database, though its body was there at once', async (t) => {
  const databases = [await startScriptedUpstream(t), await startScriptedUpstream(t)]
  for (const each of databases) each.script = (request) => void request.socket.destroy()
  const clock = fakeClock(NOW)
  const terms = { mode: 'on', identity: 'separate', policy: ladder(), maxStaleMs: 0 } as const
  const proxy = await startServer({
    listen: '127.0.0.1:0',
    limits: defaultLimits,
    clock,
    databases: [
      {
        name: 'main',
        backend: prometheus({ settledAgeMs: 3_600_000, maxBuckets: defaultLimits.maxBuckets }),
        upstream: { urls: databases.map(({ url }) => url) },
        settings: () => ({ terms, rules: [] }),
      },
    ],
  })
  t.after(() => proxy.close())
  const client = await rawClient(proxy.url)
  client.write(post('/api/v1/admin/tsdb/delete_series', 'match[]=up'))
  await client.has('502 Bad Gateway')
  assert.equal(databases.flatMap(({ seen }) => seen).length, 1)
  client.socket.destroy()
})

test('a client that never completes TLS does not delay the end beyond its limit', needsOpenssl, async () => {
  const clock = fakeClock(NOW)
  const { cert, key } = authority('drained').issue('leaf')
  const options = { address: '127.0.0.1:0', limits: defaultLimits, clock, tls: { cert, key } }
  const listener = await openListener(options, () => {})
  const client = await rawClient(listener.url)
  client.write('\x16')
  await steady(() => client.socket.bytesWritten)
  const closing = listener.close()
  await clock.advance(defaultLimits.drainMs)
  await closing
  await client.closed
})
