/** Requests that are no range queries are forwarded unchanged, in both directions. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import test from 'node:test'
import { ask, header, outcomeOf, rawClient, values } from './client.ts'
import { bodyOf, sent } from './scripted-upstream.ts'
import { startBoth, startStand } from './setup.ts'

const bodiless = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])

for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
  test(`${method} reaches the database and its answer comes back`, async (t) => {
    const { upstream, url } = await startBoth(t)
    const body = bodiless.has(method) ? undefined : randomBytes(1000)
    let got: Buffer | undefined
    upstream.script = async (request, response) => {
      got = await bodyOf(request)
      response.writeHead(207, { 'Content-Type': 'text/plain', 'X-Odd': 'ä' })
      response.end(method === 'HEAD' ? undefined : 'answer')
    }
    const answer = await ask(url, '/api/v1/anything?x=1', {
      method,
      headers: { 'X-Mine': 'ÿes', ...(body && { 'Content-Type': 'application/x-protobuf' }) },
      ...(body && { body }),
    })
    assert.equal(answer.status, 207)
    assert.equal(answer.body.toString(), method === 'HEAD' ? '' : 'answer')
    assert.equal(header(answer, 'x-odd'), 'ä')
    assert.equal(outcomeOf(answer), 'bypass/not_a_range_query')
    const seen = upstream.seen[0]!
    assert.deepEqual([seen.method, seen.target], [method, '/api/v1/anything?x=1'])
    assert.deepEqual(sent(seen, 'x-mine'), ['ÿes'])
    assert.deepEqual(got, body ?? Buffer.alloc(0))
  })
}

test('a remote-write body arrives byte for byte, chunked or with a length', async (t) => {
  const { upstream, url } = await startBoth(t)
  const body = randomBytes(300_000)
  upstream.script = async (request, response) => {
    const digest = createHash('sha256').update(await bodyOf(request))
    response.writeHead(204, { 'X-Digest': digest.digest('hex') }).end()
  }
  const digest = createHash('sha256').update(body).digest('hex')
  const headers = { 'Content-Encoding': 'snappy', 'Content-Type': 'application/x-protobuf' }
  const whole = await ask(url, '/api/v1/write', { method: 'POST', headers, body })
  const chunked = await ask(url, '/api/v1/write', {
    method: 'POST',
    headers: { ...headers, 'Transfer-Encoding': 'chunked' },
    body,
  })
  for (const answer of [whole, chunked]) {
    assert.equal(answer.status, 204)
    assert.equal(header(answer, 'x-digest'), digest)
    assert.equal(answer.body.length, 0)
  }
  assert.deepEqual(sent(upstream.seen[0]!, 'content-length'), ['300000'])
  assert.deepEqual(sent(upstream.seen[0]!, 'content-encoding'), ['snappy'])
})

test('a POST without a body keeps its length of 0', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => response.end('{}')
  await ask(url, '/-/reload', { method: 'POST', headers: { 'Content-Length': '0' } })
  assert.deepEqual(sent(upstream.seen[0]!, 'content-length'), ['0'])
})

for (const target of [
  '/graph?g0.expr=up%20%3D%3D%201&g0.tab=1',
  '/api/v1/label/__name__/values?match[]=%7Bjob%3D~%22a%7Cb%22%7D',
  '/%2e%2e/a/./b/../c//d',
  '//double',
  '/a;b=c?x=%zz&&=&?=%',
  '/caf\u00c3\u00a9?q=\u00c3\u00a9',
  '/api/v1/query?query=up&time=1.5&a=+b%2Bc',
  '/?',
  '/a|b^c`d{e}"<f>\\g',
]) {
  test(`the target ${target} is not touched`, async (t) => {
    const { upstream, url } = await startBoth(t)
    upstream.script = (_request, response) => response.end()
    const client = await rawClient(url)
    client.write(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`, 'latin1'))
    const text = (await client.closed).toString('latin1')
    // An empty query is the only thing that may be written in two ways.
    const expected = target === '/?' ? '/' : target
    if (/^HTTP\/1.1 200 /.test(text)) assert.equal(upstream.seen[0]!.target, expected)
    else assert.match(text, /^HTTP\/1\.1 400 /)
  })
}

test('a target of 100 kB passes, as it does directly', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (request, response) => response.end(String(request.url!.length))
  const answer = await ask(url, `/api/v1/query?query=${'a'.repeat(100_000)}`)
  assert.equal(answer.body.toString(), String(upstream.seen[0]?.target.length))
})

test('the path of the upstream URL is put before every path, build info included', async (t) => {
  const { upstream } = await startBoth(t)
  upstream.script = (_request, response) => response.end('ok')
  for (const prefix of ['/prom', '/prom/', '/a/b//']) {
    const { url } = await startStand(t, { upstream: `${upstream.url}${prefix}` })
    await ask(url, '/api/v1/labels?x=1')
    const base = prefix.replace(/\/+$/, '')
    assert.equal(upstream.seen.at(-1)!.target, `${base}/api/v1/labels?x=1`)
    assert.equal(upstream.buildInfoRequests.at(-1)!.target, `${base}/api/v1/status/buildinfo`)
  }
})

test('redirects, 304, 404 and repeated headers come back as they are', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (request, response) => {
    const cookies = { 'Set-Cookie': ['a=1; Path=/', 'b=2'] }
    if (request.url === '/') response.writeHead(302, { Location: '/query?x=%20' })
    else if (request.url === '/same') response.writeHead(304, { ETag: '"x"', 'Content-Encoding': 'gzip' })
    else response.writeHead(404, cookies)
    response.end(request.url === '/none' ? 'not found' : undefined)
  }
  const moved = await ask(url, '/')
  assert.deepEqual([moved.status, header(moved, 'location')], [302, '/query?x=%20'])
  const same = await ask(url, '/same', { headers: { 'If-None-Match': '"x"' } })
  assert.deepEqual([same.status, header(same, 'etag'), same.body.length], [304, '"x"', 0])
  const none = await ask(url, '/none')
  assert.deepEqual([none.status, none.body.toString()], [404, 'not found'])
  assert.deepEqual(values(none, 'set-cookie'), ['a=1; Path=/', 'b=2'])
})

test('HEAD of a compressed page keeps the headers of the page', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => {
    response.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': '1234' }).end()
  }
  const answer = await ask(url, '/page', { method: 'HEAD', headers: { 'Accept-Encoding': 'gzip' } })
  assert.deepEqual([answer.status, header(answer, 'content-length')], [200, '1234'])
  assert.equal(header(answer, 'content-encoding'), 'gzip')
})

test('a body that is declared as gzip and is not passes all the same', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => {
    response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('not gzip at all')
  }
  const answer = await ask(url, '/page', { headers: { 'Accept-Encoding': 'gzip' } })
  assert.equal(answer.body.toString(), 'not gzip at all')
})

test('trailers are not passed on, and do no harm', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => {
    response.writeHead(200, { Trailer: 'X-Sum' })
    response.write('body')
    response.addTrailers({ 'X-Sum': '1' })
    response.end()
  }
  const client = await rawClient(url)
  client.write('GET /t HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
  const text = (await client.closed).toString()
  assert.match(text, /\r\n4\r\nbody\r\n0\r\n\r\n$/)
  assert.doesNotMatch(text, /trailer|x-sum/i)
})
