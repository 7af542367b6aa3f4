/** Connection management stays between neighbours (RFC 9110 §7.6); Via and loops; odd but legal HTTP/1. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { startWindowpane } from '../../src/proxy/assembly/windowpane.ts'
import { Outgoing } from '../../src/proxy/request/outgoing.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { ask, header, outcomeOf, rawClient, until, values } from './client.ts'
import { rangePath } from './matrix.ts'
import { bodyOf, sent } from './scripted-upstream.ts'
import { NOW, oldRange, startBoth } from './setup.ts'

const ofTheConnection = [
  'Keep-Alive: timeout=5',
  'Proxy-Connection: keep-alive',
  'Proxy-Authorization: Basic eDp5',
  'TE: trailers, deflate',
  'Trailer: X-Sum',
  'X-One: 1',
  'X-Two: 2',
]
const names = ofTheConnection.map((line) => line.split(':')[0]!.toLowerCase())

for (const path of ['/api/v1/labels', rangePath(oldRange())]) {
  test(`headers of the connection are not sent on: ${path.split('?')[0]}`, async (t) => {
    const { upstream, url } = await startBoth(t)
    const client = await rawClient(url)
    const head = [`GET ${path} HTTP/1.1`, 'Host: h', 'Connection: close, X-One', 'Connection: x-two']
    client.write(`${[...head, ...ofTheConnection, 'X-Kept: 3'].join('\r\n')}\r\n\r\n`)
    await client.closed
    const seen = upstream.seen[0]!
    for (const name of names) assert.deepEqual(sent(seen, name), [], name)
    assert.deepEqual(sent(seen, 'x-kept'), ['3'])
    assert.deepEqual(sent(seen, 'host'), [`127.0.0.1:${upstream.port}`])
  })
}

test('headers of the database’s connection are not sent back', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => {
    response.writeHead(200, [
      ...['Connection', 'X-One', 'Connection', 'x-two, close'],
      ...['X-One', '1', 'X-Two', '2', 'Keep-Alive', 'timeout=1', 'Upgrade', 'h2c'],
      ...['Proxy-Authenticate', 'Basic', 'X-Kept', '3'],
    ])
    response.end('ok')
  }
  const answer = await ask(url, '/x')
  for (const name of ['x-one', 'x-two', 'upgrade', 'proxy-authenticate']) {
    assert.deepEqual(values(answer, name), [], name)
  }
  assert.doesNotMatch(values(answer, 'connection').join(), /x-/i)
  assert.equal(header(answer, 'x-kept'), '3')
})

test('a request to upgrade is answered as the plain request it is', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => response.end('plain')
  const client = await rawClient(url)
  client.write('GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  await client.has('plain')
  client.socket.destroy()
  assert.deepEqual(sent(upstream.seen[0]!, 'upgrade'), [])
})

test('Via names this hop on requests and answers, behind those before it', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => {
    response.writeHead(200, { Via: '1.1 nginx' }).end()
  }
  const answer = await ask(url, '/x', { headers: { Via: ['1.0 fred', '1.1 wilma'] } })
  const via = sent(upstream.seen[0]!, 'via').join(', ')
  assert.match(via, /^1\.0 fred, 1\.1 wilma, 1\.1 windowpane-\w+$/)
  const own = via.split(', ').at(-1)!
  assert.equal(values(answer, 'via').join(', '), `1.1 nginx, ${own}`)
  const hit = rangePath(oldRange())
  await ask(url, hit)
  assert.deepEqual(values(await ask(url, hit), 'via').at(-1), own)
})

test('a Windowpane that is its own upstream answers 508', async (t) => {
  const { upstream } = await startBoth(t)
  const { port } = upstream
  await upstream.close()
  const windowpane = await startWindowpane({
    upstream: `http://127.0.0.1:${port}`,
    listen: `127.0.0.1:${port}`,
    backend: prometheus({ settledAgeMs: 0, maxBuckets: 100 }),
    clock: fakeClock(NOW),
  })
  t.after(() => windowpane.close())
  for (const headers of [{}, { Via: ['1.1 a', '1.1 b'] }]) {
    const answer = await ask(windowpane.url, '/api/v1/labels', { headers })
    assert.equal(answer.status, 508)
    assert.match(JSON.parse(answer.body.toString()).error, /leads back to this Windowpane/)
  }
})

test('a client that expects 100 Continue gets it, and the database never hears of it', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = async (request, response) => void response.end(await bodyOf(request))
  const client = await rawClient(url)
  const head = 'POST /api/v1/write HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 4\r\n'
  client.write(`${head}Expect: 100-continue\r\n\r\n`)
  await client.has('HTTP/1.1 100 Continue\r\n\r\n')
  client.write('body')
  assert.match((await client.closed).toString(), /HTTP\/1\.1 200 OK[\s\S]*body/)
  assert.deepEqual(sent(upstream.seen[0]!, 'expect'), [])
})

test('an HTTP/1.0 client gets an answer without chunks that ends with the connection', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => {
    response.write('one ')
    response.end('two')
  }
  const client = await rawClient(url)
  client.write('GET /x HTTP/1.0\r\n\r\n')
  const text = (await client.closed).toString()
  assert.match(text, /\r\n\r\none two$/)
  assert.doesNotMatch(text, /transfer-encoding/i)
})

test('pipelined requests are answered in their order, whatever the database’s', async (t) => {
  const { upstream, url } = await startBoth(t)
  const held: (() => void)[] = []
  upstream.script = (request, response) => {
    if (request.url === '/1') held.push(() => response.end('first!'))
    else {
      response.end('second!')
      for (const release of held) release()
    }
  }
  const client = await rawClient(url)
  const close = 'Connection: close\r\n'
  client.write(`GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n${close}\r\n`)
  assert.match((await client.closed).toString(), /first![\s\S]*second!/)
})

for (const path of ['/federate', rangePath(oldRange())]) {
  test(`a pipelined answer that breaks off before its turn ends the connection in its turn: ${path.slice(0, 20)}`, async (t) => {
    const { upstream, url } = await startBoth(t)
    const aborting = t.mock.method(Outgoing.prototype, 'abort')
    upstream.script = (request, response) => {
      if (request.url === '/first') return
      response.writeHead(200, { 'Content-Length': '1000' })
      response.write('begin', () => response.destroy())
    }
    const client = await rawClient(url)
    client.write('GET /first HTTP/1.1\r\nHost: h\r\n\r\n')
    await until(() => upstream.seen.length === 1)
    client.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
    await until(() => aborting.mock.callCount() === 1)
    upstream.seen[0]!.response.end('first!')
    assert.match((await client.closed).toString(), /first!/)
  })
}

test('an absolute target means its path', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => response.end('ok')
  const client = await rawClient(url)
  client.write('GET http://elsewhere:1/a/b?c=%20 HTTP/1.1\r\nHost: elsewhere:1\r\nConnection: close\r\n\r\n')
  await client.closed
  assert.equal(upstream.seen[0]!.target, '/a/b?c=%20')
})

for (const bytes of [
  'GET / HTTP/1.1\r\nHost h\r\n\r\n',
  'NOT HTTP\r\n\r\n',
  'GET nothing HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n',
  '\x00\x01\x02\r\n\r\n',
]) {
  test(`${JSON.stringify(bytes.slice(0, 40))} is refused with 400 and other clients are unaffected`, async (t) => {
    const { upstream, url } = await startBoth(t)
    const client = await rawClient(url)
    client.write(bytes)
    assert.match((await client.closed).toString('latin1'), /^HTTP\/1\.1 400 /)
    assert.equal(upstream.seen.length, 0)
    assert.equal(outcomeOf(await ask(url, rangePath(oldRange()))), 'miss/absent')
  })
}
