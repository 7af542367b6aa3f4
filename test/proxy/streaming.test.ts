/** Bodies flow in both directions as they come, at the slower side's pace. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import test from 'node:test'
import { garbageCollector } from '../../src/core/runtime.ts'
import { rawClient, steady, until } from './client.ts'
import { matrix, rangePath, series } from './matrix.ts'
import { bodyOf } from './scripted-upstream.ts'
import { oldRange, startBoth } from './setup.ts'

const MiB = 2 ** 20

function open(
  url: string,
  path: string,
  method: string,
  headers: Readonly<Record<string, string>> = {},
): { request: ClientRequest; answer: Promise<IncomingMessage> } {
  const request = httpRequest(`${url}${path}`, { method, headers, agent: false })
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.once('error', reject)
  })
  return { request, answer }
}

const collectGarbage = garbageCollector()

/** Buffers are swept by another thread: the second collection waits for that of the first. */
function heldBytes(): number {
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

const firstByte = (stream: IncomingMessage): Promise<Buffer> =>
  new Promise((resolve) => stream.once('data', resolve))

test('the first byte of an answer arrives before the last is sent', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => void response.write('first')
  const { request, answer } = open(url, '/federate', 'GET')
  request.end()
  const response = await answer
  assert.equal((await firstByte(response)).toString(), 'first')
  upstream.seen[0]!.response.end('last')
  assert.equal((await firstByte(response)).toString(), 'last')
})

test('the first byte of a range query’s answer arrives before the last is sent', async (t) => {
  const { upstream, url } = await startBoth(t)
  const range = oldRange(1, 1)
  const text = matrix([series('up', [`[${range.start / 1000},"1"]`])])
  upstream.script = (_request, response) => void response.write(text.slice(0, 30))
  const { request, answer } = open(url, rangePath(range), 'GET')
  request.end()
  const response = await answer
  const chunks = [await firstByte(response)]
  response.on('data', (chunk: Buffer) => chunks.push(chunk))
  upstream.seen[0]!.response.end(text.slice(30))
  await new Promise((resolve) => response.once('end', resolve))
  assert.equal(Buffer.concat(chunks).toString(), text)
})

/** Longer than the part that is gathered before the database is queried. */
const long = { 'Content-Length': String(2 * MiB) }

test('the first byte of a long request reaches the database before the last is sent', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = () => {}
  const { request, answer } = open(url, '/api/v1/write', 'POST', long)
  request.write('first')
  const seen = await upstream.next()
  assert.equal((await firstByte(seen.request)).toString(), 'first')
  const rest = Buffer.alloc(2 * MiB - 5)
  request.end(rest)
  let length = 0
  seen.request.on('data', (chunk: Buffer) => {
    length += chunk.length
  })
  await until(() => length === rest.length)
  seen.response.end('done')
  assert.equal((await firstByte(await answer)).toString(), 'done')
})

for (const [what, headers] of [
  ['of known length', { 'Content-Length': '9' }],
  ['in chunks', {}],
] as const) {
  test(`the database hears of a request with a small body ${what} when that is complete`, async (t) => {
    const { upstream, url } = await startBoth(t)
    upstream.script = async (request, response) => void response.end(await bodyOf(request))
    const { request, answer } = open(url, '/api/v1/write', 'POST', headers)
    request.write('first')
    await steady(() => upstream.seen.length)
    assert.equal(upstream.seen.length, 0)
    request.end('last')
    assert.equal((await firstByte(await answer)).toString(), 'firstlast')
  })
}

test('a body of unknown length becomes a stream when it is no longer small', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = () => {}
  const { request, answer } = open(url, '/api/v1/write', 'POST')
  const pieces = [Buffer.alloc(MiB, 'a'), Buffer.alloc(MiB, 'b')]
  request.write(pieces[0])
  const next = upstream.next()
  request.write(pieces[1])
  const seen = await next
  const received: Buffer[] = []
  seen.request.on('data', (chunk: Buffer) => received.push(chunk))
  await until(() => received.reduce((sum, { length }) => sum + length, 0) === 2 * MiB)
  assert.ok(Buffer.concat(received).equals(Buffer.concat(pieces)))
  request.destroy()
  await assert.rejects(answer)
})

test('150 MB pass in each direction without being gathered', async (t) => {
  const { upstream, url } = await startBoth(t)
  const piece = Buffer.alloc(MiB, 'windowpane')
  const expected = createHash('sha256')
  for (let i = 0; i < 150; i++) expected.update(piece)
  upstream.script = (request, response) => {
    response.writeHead(200, { 'X-Test': 'echo' })
    request.pipe(response)
  }
  const { request, answer } = open(url, '/api/v1/read', 'POST')
  const digest = createHash('sha256')
  let [most, received, next] = [0, 0, 0]
  const before = heldBytes()
  answer.then((response) => {
    response.on('data', (chunk: Buffer) => {
      digest.update(chunk)
      received += chunk.length
      if (received < next) return
      next += 10 * MiB
      most = Math.max(most, heldBytes())
    })
  })
  for (let i = 0; i < 150; i++) {
    if (!request.write(piece)) await new Promise((resolve) => request.once('drain', resolve))
  }
  request.end()
  await new Promise((resolve) => answer.then((response) => response.once('end', resolve)))
  assert.equal(digest.digest('hex'), expected.digest('hex'))
  assert.ok(most - before < 64 * MiB, `grew by ${Math.round((most - before) / MiB)} MiB`)
})

test('a client that does not read holds the database back', async (t) => {
  const { upstream, url } = await startBoth(t)
  let written = 0
  upstream.script = (_request, response) => {
    const piece = Buffer.alloc(MiB)
    const more = () => {
      while (++written < 400 && response.write(piece));
      if (written < 400) response.once('drain', more)
    }
    more()
  }
  const client = await rawClient(url)
  client.socket.pause()
  client.write('GET /federate HTTP/1.1\r\nHost: h\r\n\r\n')
  await until(() => written > 0)
  await steady(() => written)
  assert.ok(written < 100, `${written} MiB were taken from the database`)
  client.socket.destroy()
  assert.equal(await upstream.seen[0]!.finished, false)
})

test('an answer cut off by the database is cut off for the client', async (t) => {
  const { upstream, url } = await startBoth(t)
  const cases = [{ 'Content-Length': '1000' }, {}]
  for (const headers of cases) {
    upstream.script = (_request, response) => {
      response.writeHead(200, headers)
      response.write('begin', () => response.destroy())
    }
    for (const path of ['/federate', rangePath(oldRange())]) {
      const { request, answer } = open(url, path, 'GET')
      request.end()
      const response = await answer
      response.resume()
      const error = await new Promise<Error>((resolve) => response.once('error', resolve))
      assert.match(error.message, /aborted/)
    }
  }
})

test('a database that closes before its head is a 502 in the database’s own words', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => void response.destroy()
  for (const path of ['/federate', rangePath(oldRange())]) {
    const { request, answer } = open(url, path, 'GET')
    request.end()
    const response = await answer
    const body = JSON.parse((await firstByte(response)).toString())
    assert.deepEqual([response.statusCode, body.status], [502, 'error'])
    assert.match(body.error, /^windowpane: the database cannot be reached/)
    assert.match(response.headers['cache-status'] as string, /error\/database_unreachable/)
  }
})

test('a client that disconnects ends the database’s work', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => void response.write('begin')
  for (const path of ['/federate', rangePath(oldRange()), rangePath(oldRange(), { stats: 'all' })]) {
    const { request, answer } = open(url, path, 'GET')
    request.end()
    await answer
    request.on('error', () => {})
    request.destroy()
    assert.equal(await upstream.seen.at(-1)!.finished, false, path)
  }
})

test('a client that disconnects before anything was answered ends the database’s work', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = () => {}
  for (const path of ['/federate', rangePath(oldRange())]) {
    const seen = upstream.next()
    const client = await rawClient(url)
    client.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
    const { finished } = await seen
    client.socket.destroy()
    assert.equal(await finished, false, path)
  }
})

test('a pipelining client that disconnects ends the work for every request it sent', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => void response.write('begin')
  const client = await rawClient(url)
  const requests = ['/a', '/b', rangePath(oldRange())].map(
    (path) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`,
  )
  client.write(requests.join(''))
  await until(() => upstream.seen.length === 3)
  client.socket.destroy()
  for (const { finished } of upstream.seen) assert.equal(await finished, false)
})

test('a database may answer before it has read the request', async (t) => {
  const { upstream, url } = await startBoth(t)
  upstream.script = (_request, response) => {
    response.writeHead(429, { 'Retry-After': '7', Connection: 'close' }).end('slow down')
  }
  const { request, answer } = open(url, '/api/v1/write', 'POST', long)
  request.on('error', () => {})
  request.write(Buffer.alloc(1000))
  const response = await answer
  assert.equal(response.statusCode, 429)
  assert.equal(response.headers['retry-after'], '7')
  request.destroy()
})
