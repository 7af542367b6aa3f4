/** Every limit of the proxy: reaching one degrades, it never breaks. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { eventually } from '../wait.ts'
import { type Answer, ask, header, outcomeOf, rawClient, until } from './client.ts'
import { bigMatrix, rangePath, rangeSearch } from './matrix.ts'
import { bodyOf } from './scripted-upstream.ts'
import { NOW, oldRange, startBoth } from './setup.ts'

const MiB = 2 ** 20
const range = oldRange()
const path = rangePath(range)
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }

test('a query body over the limit is refused with 413; other bodies are not limited', async (t) => {
  const { url, upstream } = await startBoth(t, { limits: { maxRequestBytes: 1000 } })
  const body = `${rangeSearch(range)}&x=${'y'.repeat(1000)}`
  for (const headers of [form, { ...form, 'Transfer-Encoding': 'chunked' }]) {
    const answer = await ask(url, '/api/v1/query_range', { method: 'POST', headers, body })
    assert.equal(answer.status, 413)
    assert.equal(outcomeOf(answer), 'refused/request_too_large')
    assert.match(JSON.parse(answer.body.toString()).error, /1000 bytes/)
  }
  const big = await ask(url, '/api/v1/query_range', {
    method: 'POST',
    headers: form,
    body: Buffer.alloc(20 * MiB),
  })
  assert.equal(big.status, 413)
  assert.equal(upstream.seen.length, 0)
  const allowed = body.slice(0, 1000)
  assert.equal(
    (await ask(url, '/api/v1/query_range', { method: 'POST', headers: form, body: allowed })).status,
    200,
  )
  upstream.script = async (request, response) => void response.end(String((await bodyOf(request)).length))
  const write = await ask(url, '/api/v1/write', { method: 'POST', body: Buffer.alloc(5000) })
  assert.equal(write.body.toString(), '5000')
})

test('a body without an end is cut off, not gathered', async (t) => {
  const { url } = await startBoth(t, { limits: { maxRequestBytes: 1000 } })
  const client = await rawClient(url)
  client.write('POST /api/v1/query_range HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n')
  const piece = `10000\r\n${'x'.repeat(0x10000)}\r\n`
  const pump = () => {
    while (!client.socket.destroyed && client.socket.write(piece));
  }
  client.socket.on('drain', pump)
  pump()
  await client.closed
})

test('a client that goes before the end of its query leaves nothing behind', async (t) => {
  const { url, budget } = await startBoth(t, { limits: { maxRequests: 1 } })
  const before = budget.used
  const client = await rawClient(url)
  client.write('POST /api/v1/query_range HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nquery=up')
  await until(() => budget.used > before)
  client.socket.destroy()
  await until(() => budget.used === before)
  assert.equal((await ask(url, path)).status, 200)
})

test('requests over the limit are refused with 503 and Retry-After', async (t) => {
  const { url, upstream } = await startBoth(t, { limits: { maxRequests: 2 } })
  upstream.script = () => {}
  const waiting = [ask(url, '/1'), ask(url, '/2')]
  await until(() => upstream.seen.length === 2)
  const refused = await ask(url, '/3')
  assert.equal(refused.status, 503)
  assert.equal(outcomeOf(refused), 'refused/overloaded')
  assert.match(header(refused, 'retry-after')!, /^[1-9]\d*$/)
  for (const { response } of upstream.seen) response.end('ok')
  for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 200)
  upstream.script = (_request, response) => void response.end('ok')
  assert.equal((await ask(url, '/4')).status, 200)
})

test('an answer over the limit passes untouched and is not kept', async (t) => {
  const { url, upstream, budget } = await startBoth(t, { limits: { maxAnswerBytes: 50_000 } })
  const body = bigMatrix('big', 200_000, range.start)
  upstream.script = (_request, response) => void response.end(body)
  for (let i = 0; i < 2; i++) {
    const answer = await ask(url, path)
    assert.equal(outcomeOf(answer), 'miss/absent')
    assert.deepEqual(answer.body, body)
  }
  assert.equal(budget.used, 0)
})

test('a missing part over the limit makes the whole query go to the database', async (t) => {
  const { url, upstream, budget } = await startBoth(t, { limits: { maxAnswerBytes: 50_000 } })
  await ask(url, path)
  const held = budget.used
  const body = bigMatrix('big', 200_000, range.start)
  upstream.script = (_request, response) => void response.end(body)
  const wider = rangePath({ ...range, end: range.end + 60_000 })
  const answer = await ask(url, wider)
  assert.equal(outcomeOf(answer), 'bypass/answer_too_large')
  assert.deepEqual(answer.body, body)
  assert.equal(upstream.seen.at(-1)!.target, wider)
  assert.equal(budget.used, held)
})

test('without any memory to spare every query is still answered', async (t) => {
  const { url, upstream, budget } = await startBoth(t, { limits: { memoryBytes: 1000 } })
  const body = bigMatrix('big', 100_000, range.start)
  upstream.script = (_request, response) => void response.end(body)
  for (let i = 0; i < 3; i++) {
    const answer = await ask(url, path)
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, body)
  }
  assert.equal(budget.used, 0)
})

test('a stored answer that has no room to be put together is fetched instead', async (t) => {
  const { url, budget } = await startBoth(t)
  const first = await ask(url, path)
  assert.equal(outcomeOf(await ask(url, path)), 'hit')
  budget.reserve = () => false
  for (const target of [path, rangePath({ ...range, end: range.end + 60_000 })]) {
    // By node:http: the shortcut sends a short answer without reserving memory.
    const answer = await ask(url, target, { headers: { Connection: 'close' } })
    assert.equal(outcomeOf(answer), 'bypass/memory_exhausted')
    assert.equal(answer.status, 200)
    if (target === path) assert.deepEqual(answer.body, first.body)
  }
})

test('a database that sends nothing for too long is a 504 with the reason', async (t) => {
  const { url, upstream, clock } = await startBoth(t, { limits: { upstreamTimeoutMs: 150_000 } })
  upstream.script = () => {}
  for (const target of ['/federate', path, rangePath(range, { stats: 'all' })]) {
    const seen = upstream.next()
    const pending = ask(url, target)
    await seen
    await clock.advance(149_999)
    assert.equal((await seen).response.destroyed, false)
    await clock.advance(1)
    const answer = await pending
    assert.equal(answer.status, 504)
    assert.equal(outcomeOf(answer), 'error/database_timeout')
    const { status, errorType, error } = JSON.parse(answer.body.toString())
    assert.deepEqual([status, errorType], ['error', 'timeout'])
    assert.match(error, /did not answer in time \(no byte for 150000 ms\)/)
    assert.equal(await (await seen).finished, false)
  }
})

test('bytes put the deadline off; a jump of the wall clock does not bring it on', async (t) => {
  const { url, upstream, clock } = await startBoth(t, { limits: { upstreamTimeoutMs: 1000 } })
  upstream.script = (_request, response) => void response.write('1')
  const client = await rawClient(url)
  client.write('GET /slow HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
  await client.has('\r\n1\r\n')
  for (const digit of ['2', '3', '4']) {
    await clock.advance(900)
    upstream.seen[0]!.response.write(digit)
    await client.has(`\r\n${digit}\r\n`)
    clock.jump(NOW + Number(digit) * 3_600_000)
  }
  await clock.advance(900)
  upstream.seen[0]!.response.end('end')
  assert.match((await client.closed).toString(), /\r\nend\r\n0\r\n\r\n$/)
})

/** The server may not have seen all of its clients leave yet. */
async function answeredAtLast(url: string): Promise<Answer> {
  const answer = await eventually(
    () => ask(url, path).catch(() => undefined),
    (each) => each !== undefined,
  )
  return answer!
}

test('a flood of 2 000 connections leaves a server that answers', async (t) => {
  const { url, upstream } = await startBoth(t, { limits: { maxConnections: 1500, maxRequests: 100 } })
  const clients = await Promise.all(Array.from({ length: 2000 }, () => rawClient(url)))
  for (const { socket } of clients) socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
  await Promise.allSettled(clients.map((client) => client.has('\r\n\r\n')))
  const answers = clients.map((client) => client.received().toString()).filter((text) => text !== '')
  assert.ok(answers.length > 500, `${answers.length} answers`)
  for (const text of answers) assert.match(text, /^HTTP\/1\.1 (200|503) /)
  for (const { socket } of clients) socket.destroy()
  assert.ok(upstream.seen.length <= 1, 'one viewer or two thousand: one query')
  await until(() => clients.every(({ socket }) => socket.closed))
  assert.equal((await answeredAtLast(url)).status, 200)
})
