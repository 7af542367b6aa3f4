/** A response that is truncated before the client has a byte of it is requested once more, where that does no harm. */
import assert from 'node:assert/strict'
import type { RequestListener, ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { ask, outcomeOf } from '../proxy/client.ts'
import { matrixFor, rangePath, rangeSearch } from '../proxy/matrix.ts'
import { oldRange, startBoth } from '../proxy/setup.ts'

const range = oldRange()
const path = rangePath(range)
const wider = rangePath({ ...range, end: range.end + 60_000 })
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }

const afterHead = (response: ServerResponse): void => {
  response.writeHead(200, { 'Content-Length': '1000' })
  response.flushHeaders()
  response.socket!.end()
}
const inHead =
  (bytes: number) =>
  (response: ServerResponse): void =>
    void response.socket!.end(head.slice(0, bytes))
const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n'
const beforeHead = (response: ServerResponse): void => void response.socket!.destroy()
const inBody = (response: ServerResponse): void => {
  response.writeHead(200, { 'Content-Length': '1000' })
  response.write('{"status":"succ', () => response.destroy())
}

/** A proxy whose database breaks off so many times before it answers again. */
async function setUp(t: TestContext) {
  const { url, upstream } = await startBoth(t)
  const { script } = upstream
  const breakOff = (how: (response: ServerResponse) => void, times = 1) => {
    const before = upstream.seen.length
    let left = times
    upstream.script = ((request, response) => {
      if (left-- > 0) request.resume().on('end', () => how(response))
      else script(request, response)
    }) satisfies RequestListener
    return { queries: () => upstream.seen.length - before }
  }
  return { url, breakOff }
}

test('a miss whose response is truncated behind its head is requested once more', async (t) => {
  const { url, breakOff } = await setUp(t)
  const broken = breakOff(afterHead)
  const answer = await ask(url, path)
  assert.deepEqual([answer.status, outcomeOf(answer)], [200, 'miss/absent'])
  assert.equal(answer.body.toString(), matrixFor(new URL(path, 'http://x').searchParams, 1))
  assert.equal(broken.queries(), 2)
  assert.equal(outcomeOf(await ask(url, path)), 'hit')
})

test('so is one whose response is truncated at any byte of its head', async (t) => {
  const { url, breakOff } = await setUp(t)
  for (let bytes = 1; bytes < head.length; bytes++) {
    const broken = breakOff(inHead(bytes))
    const answer = await ask(url, rangePath({ ...range, query: `cut_${bytes}` }))
    assert.deepEqual([outcomeOf(answer), broken.queries()], ['miss/absent', 2], `at ${bytes}`)
  }
})

test('a request that is passed on, too', async (t) => {
  const { url, breakOff } = await setUp(t)
  const broken = breakOff(afterHead)
  assert.equal((await ask(url, '/federate')).status, 200)
  assert.equal(broken.queries(), 2)
})

test('a response that breaks off twice is an error', async (t) => {
  const { url, breakOff } = await setUp(t)
  for (const how of [inHead(10), afterHead]) {
    const broken = breakOff(how, 2)
    const answer = await ask(url, path)
    assert.deepEqual([answer.status, outcomeOf(answer)], [502, 'error/database_unreachable'])
    assert.equal(broken.queries(), 2)
  }
})

test('without a response nothing is requested again', async (t) => {
  const { url, breakOff } = await setUp(t)
  for (const target of [path, '/federate']) {
    const broken = breakOff(beforeHead)
    assert.equal((await ask(url, target)).status, 502)
    assert.equal(broken.queries(), 1)
  }
})

for (const [when, how] of [
  ['before its head', beforeHead],
  ['in its head', inHead(10)],
  ['behind its head', afterHead],
] as const) {
  test(`a request that is no query is not sent again (${when})`, async (t) => {
    const { url, breakOff } = await setUp(t)
    const broken = breakOff(how)
    const body = Buffer.from('match[]=up')
    const answer = await ask(url, '/api/v1/admin/tsdb/delete_series', { method: 'POST', headers: form, body })
    assert.deepEqual([answer.status, broken.queries()], [502, 1])
  })
}

test('a query by POST is sent again', async (t) => {
  const { url, breakOff } = await setUp(t)
  const broken = breakOff(afterHead)
  const body = Buffer.from(rangeSearch(range))
  const answer = await ask(url, '/api/v1/query_range', { method: 'POST', headers: form, body })
  assert.deepEqual([answer.status, outcomeOf(answer), broken.queries()], [200, 'miss/absent', 2])
})

test('the rest of an answer is requested again wherever it is truncated: the client has nothing of it', async (t) => {
  const { url, breakOff } = await setUp(t)
  await ask(url, path)
  const broken = breakOff(inBody)
  const answer = await ask(url, wider)
  assert.deepEqual([outcomeOf(answer), broken.queries()], ['partial/absent', 2])
  assert.equal(answer.body.toString(), matrixFor(new URL(wider, 'http://x').searchParams, 1))
})

test('an answer that is cached as a whole is requested again wherever it is truncated: the client has nothing of it', async (t) => {
  const { url, breakOff } = await setUp(t)
  const broken = breakOff(inBody)
  const answer = await ask(url, '/api/v1/labels')
  assert.deepEqual([answer.status, outcomeOf(answer), broken.queries()], [200, 'miss/absent', 2])
  const direct = await ask(url, '/api/v1/labels', { headers: { 'Cache-Control': 'no-store' } })
  assert.equal(answer.body.toString(), direct.body.toString())
})

test('a client that has a byte of a response gets no other', async (t) => {
  const { url, breakOff } = await setUp(t)
  for (const target of [path, '/federate']) {
    const broken = breakOff(inBody)
    await assert.rejects(ask(url, target))
    assert.equal(broken.queries(), 1)
  }
})
