/** Queries that come as bodies: in whatever pieces, one behind the other, on one connection. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { scheduler } from 'node:timers/promises'
import { GatheredMessage, StreamedMessage } from '../../src/proxy/front/body.ts'
import { ask, outcomeOf, type RawClient, rawClient } from './client.ts'
import { matrixFor, rangeSearch } from './matrix.ts'
import { oldRange, runtime, startBoth, switchedOff } from './setup.ts'

const form = 'Content-Type: application/x-www-form-urlencoded\r\n'
const head = `POST /api/v1/query_range HTTP/1.1\r\nHost: h\r\n${form}`

const whole = (body: string): string => `${head}Content-Length: ${body.length}\r\n\r\n${body}`

/** In pieces of so many characters, with a trailer. */
function chunked(body: string, size: number): string {
  const pieces = body.match(new RegExp(`.{1,${size}}`, 'g'))!
  const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
  return `${head}Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n${chunks.join('')}0\r\nX-Sum: 1\r\n\r\n`
}

/** Windows of different questions. */
const bodies = Array.from({ length: 6 }, (_, i) => rangeSearch({ ...oldRange(1, 5 + i), query: `q${i}` }))
const truth = (body: string): string => matrixFor(new URLSearchParams(body), 1)

/** The bodies of the answers that a connection has received so far. */
function answersOf(client: RawClient): string[] {
  const answers: string[] = []
  let rest = client.received().toString('latin1')
  for (;;) {
    const match = /^HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)*?content-length: (\d+)\r\n(?:[^\r]+\r\n)*\r\n/i.exec(
      rest,
    )
    const end = match === null ? Number.POSITIVE_INFINITY : match[0].length + Number(match[1])
    if (match === null || rest.length < end) return answers
    answers.push(rest.slice(match[0].length, end))
    rest = rest.slice(end)
  }
}

async function answered(client: RawClient, count: number): Promise<string[]> {
  while (answersOf(client).length < count) await new Promise((resolve) => client.socket.once('data', resolve))
  return answersOf(client)
}

test('queries that come at once are answered each in its turn, stored or not', async (t) => {
  const { url } = await startBoth(t)
  for (const body of bodies) {
    // Answers of a miss are streamed in chunks: they are of no interest here.
    const first = await rawClient(url)
    first.write(whole(body).replace('Host: h', 'Host: h\r\nConnection: close'))
    await first.closed
  }
  const client = await rawClient(url)
  client.write(bodies.map((body, i) => (i % 2 === 0 ? whole(body) : chunked(body, 7))).join(''))
  assert.deepEqual(await answered(client, bodies.length), bodies.map(truth))
  client.write(bodies.map(whole).join('') + bodies.map(whole).join(''))
  const all = await answered(client, 3 * bodies.length)
  assert.deepEqual(all.slice(bodies.length), [...bodies, ...bodies].map(truth))
  client.socket.destroy()
})

test('a query may come byte by byte, and the next one with its last byte', async (t) => {
  const { url } = await startBoth(t)
  const [one, two] = [bodies[0]!, bodies[1]!]
  for (const body of [one, two]) {
    const first = await rawClient(url)
    first.write(whole(body).replace('Host: h', 'Host: h\r\nConnection: close'))
    await first.closed
  }
  for (const text of [whole(one), chunked(one, 3)]) {
    const client = await rawClient(url)
    client.socket.setNoDelay(true)
    for (const byte of text.slice(0, -1)) {
      client.write(byte)
      await scheduler.yield()
    }
    client.write(text.slice(-1) + whole(two))
    assert.deepEqual(await answered(client, 2), [truth(one), truth(two)])
    client.socket.destroy()
  }
})

test('unused bytes of a query are not kept for the next: a connection is used again and again', async (t) => {
  const { url, budget } = await startBoth(t)
  const client = await rawClient(url)
  client.write(whole(bodies[0]!))
  await client.has('\r\n0\r\n\r\n')
  const before = budget.used
  const fresh = await rawClient(url)
  for (let i = 0; i < 50; i++) {
    fresh.write(whole(bodies[0]!))
    await answered(fresh, i + 1)
  }
  assert.equal(budget.used, before)
  for (const each of [client, fresh]) each.socket.destroy()
})

/** Otherwise the other tests of the proxy say nothing about a piece that is switched off, or about one that is on. */
test('the body of a request of these tests is read by the piece that they run with', async (t) => {
  const gathered = t.mock.method(GatheredMessage.prototype, 'gather').mock
  const streamed = t.mock.method(StreamedMessage.prototype, 'gather').mock
  const { url } = await startBoth(t)
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const asked = await ask(url, '/api/v1/query_range', { method: 'POST', headers, body: bodies[0]! })
  assert.equal(outcomeOf(asked), 'miss/absent')
  const isByShortcut = process.env[switchedOff] === 'writeQueue'
  assert.equal(gathered.callCount(), runtime.pushedBodies && !isByShortcut ? 1 : 0)
  assert.equal(streamed.callCount(), runtime.pushedBodies ? 0 : 1)
})
