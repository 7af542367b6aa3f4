/**
 * The shortcut next to node:http alone: the same bytes, cut anywhere, to a Windowpane that reads plain requests itself
 * and to one that leaves them all to node:http. Both give the same answer; and the shortcut is known to have been
 * taken.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { scheduler } from 'node:timers/promises'
import fc from 'fast-check'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { allOn } from '../../src/core/runtime.ts'
import { type ProxyServer, startServer } from '../../src/proxy/assembly/server.ts'
import { openListener } from '../../src/proxy/front/listener.ts'
import { PlainReply } from '../../src/proxy/front/plain-reply.ts'
import { maxPieces } from '../../src/proxy/front/shortcut.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { answersOnWire, type WireAnswer } from './answers-on-wire.ts'
import { ask, outcomeOf, rawClient, steady, until } from './client.ts'
import { rangePath, rangeSearch } from './matrix.ts'
import { bodyOf, startScriptedUpstream } from './scripted-upstream.ts'
import { NOW, oldRange, startBoth } from './setup.ts'

interface Side {
  readonly url: string
  readonly proxy: ProxyServer
}

/** A proxy, and a listener of its own that reads everything with node:http. */
async function startSides(t: TestContext): Promise<{ shortcut: Side; node: Side }> {
  const start = async (): Promise<Side & { readonly withoutShortcut: string }> => {
    const upstream = await startScriptedUpstream(t)
    const matrix = upstream.script
    upstream.script = async (request, response) => {
      if (request.url?.startsWith('/api/v1/query_range')) return matrix(request, response)
      response.end(`${request.method} ${request.url} ${await bodyOf(request)}`)
    }
    const clock = fakeClock(NOW)
    const policy = ladder()
    const terms = { mode: 'on', identity: 'separate', policy, maxStaleMs: 0 } as const
    const proxy = await startServer({
      ...{ listen: '127.0.0.1:0', limits: defaultLimits, clock },
      databases: [
        {
          name: 'main',
          backend: prometheus({ settledAgeMs: policy.settledAgeMs, maxBuckets: 1000 }),
          upstream: { urls: [upstream.url] },
          settings: () => ({ terms, rules: [] }),
        },
      ],
    })
    const { handler } = proxy.databases[0]!.backendRuntime
    const options = { address: '127.0.0.1:0', limits: defaultLimits, clock }
    const listener = await openListener(options, (request, reply) => void handler.handle(request, reply))
    t.after(async () => {
      const closed = [listener.close(), proxy.close()]
      await clock.advance(defaultLimits.drainMs)
      await Promise.all(closed)
    })
    return { url: proxy.url, withoutShortcut: listener.url, proxy }
  }
  const [one, other] = [await start(), await start()]
  return { shortcut: one, node: { ...other, url: other.withoutShortcut } }
}

const known = oldRange(2, 20)
const later = { ...known, end: known.end + 5 * 60_000 }
const form = rangeSearch(known)

interface Message {
  readonly method: string
  readonly bytes: string
}

const message = (line: string, headers: readonly string[] = [], body = ''): Message => ({
  method: line.split(' ')[0]!,
  bytes: `${[`${line} HTTP/1.1`, 'Host: h', ...headers].join('\r\n')}\r\n\r\n${body}`,
})
const post = (path: string, body: string, ...headers: string[]): Message =>
  message(`POST ${path}`, [`Content-Length: ${body.length}`, ...headers], body)
const urlencoded = 'Content-Type: application/x-www-form-urlencoded'

/** `n` is never the same twice: a miss stays one. */
const messages: Record<string, (n: number) => Message> = {
  hit: () => message(`GET ${rangePath(known)}`, ['Connection: keep-alive']),
  again: () => message(`GET ${rangePath(known)}`, ['User-Agent: x', 'X-Scope-OrgID: ']),
  posted: () => post('/api/v1/query_range', form, urlencoded),
  packed: () => message(`GET ${rangePath(known)}`, ['Accept-Encoding: gzip']),
  partial: () => message(`GET ${rangePath({ ...later, query: 'grows' })}`),
  miss: (n) => message(`GET ${rangePath({ ...known, query: `miss_${n}` })}`),
  refused: () =>
    message(`GET ${rangePath({ ...known, query: 'absent' })}`, ['Cache-Control: only-if-cached']),
  passed: (n) => message(`GET /api/v1/targets?n=${n}`),
  sent: (n) => post('/api/v1/write', `body ${n}`),
  empty: () => post('/echo', ''),
  head: () => message(`HEAD ${rangePath(known)}`),
  odd: () => message(`GET ${rangePath(known)}`, ['TE: trailers']),
  twice: () => message(`GET ${rangePath(known)}`, ['Accept: a', 'Accept: b']),
  chunked: () => message('POST /echo', ['Transfer-Encoding: chunked'], '3\r\nabc\r\n0\r\n\r\n'),
}
const last = message(`GET ${rangePath(known)}`, ['Connection: close'])

const hits = ['hit', 'again', 'posted']

/**
 * How many answers take the shortcut for certain: hits without a body at the beginning of a connection, as long as all of them come in
 * no more pieces than one head may. Whether others take it depends on how the system joins the pieces.
 */
function certainly(kinds: readonly string[], all: readonly Message[], lengths: readonly number[]): number {
  let [end, sent, pieces, count] = [0, 0, 0, 0]
  for (; kinds[count] === 'hit' || kinds[count] === 'again'; count++) {
    end += all[count]!.bytes.length
    while (sent < end) sent += lengths[pieces++ % lengths.length]!
    if (pieces > maxPieces) break
  }
  return count
}

/** Sends bytes in pieces of the given lengths, in turn, and returns all that comes back until the end. */
async function exchange(url: string, bytes: Buffer, lengths: readonly number[]): Promise<Buffer> {
  const client = await rawClient(url)
  client.socket.setNoDelay(true)
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const length = lengths[i % lengths.length]!
    client.write(bytes.subarray(at, at + length))
    at += length
    if (i % 3 === 0) await scheduler.yield()
  }
  return client.closed
}

/** Permitted differences: names, the time of day, and the order of arrival. */
const comparable = ({ status, headers, body }: WireAnswer) => ({
  status,
  headers: headers.map((line) =>
    line
      .replace(/windowpane-\w+/, 'windowpane')
      .replace(/^Date: .*/, 'Date')
      .replace(/ collapsed;/, ''),
  ),
  body,
})

test('the same bytes, cut anywhere, are answered as node:http alone answers them', async (t) => {
  const { shortcut, node } = await startSides(t)
  const sending = t.mock.method(PlainReply.prototype, 'sendWhole')
  for (const { url } of [shortcut, node]) {
    await ask(url, rangePath(known))
    await ask(url, rangePath(known), { headers: { 'Accept-Encoding': 'gzip' } })
    // A header that separates clients, though it is empty.
    await ask(url, rangePath(known), { headers: { 'X-Scope-OrgID': '' } })
    await ask(url, rangePath({ ...known, query: 'grows' }))
  }
  const taken = () => sending.mock.calls.filter(({ result }) => result === true).length
  let n = 0
  let certain = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.constantFrom(...hits), fc.constantFrom(...Object.keys(messages))), {
        maxLength: 8,
      }),
      fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 40, max: 4000 })), {
        minLength: 1,
      }),
      async (kinds, lengths) => {
        const all = [...kinds.map((kind) => messages[kind]!(n++)), last]
        const methods = all.map(({ method }) => method)
        const bytes = Buffer.from(all.map((each) => each.bytes).join(''))
        const before = taken()
        const [mine, nodes] = await Promise.all(
          [shortcut, node].map(async ({ url }) =>
            answersOnWire(await exchange(url, bytes, lengths), methods),
          ),
        )
        assert.equal(mine!.length, all.length)
        assert.deepEqual(mine!.map(comparable), nodes!.map(comparable))
        const least = certainly(kinds, all, lengths)
        certain += least
        assert.ok(taken() - before >= least, `${taken() - before} of ${least} hits took the shortcut`)
      },
    ),
    { numRuns: 150 },
  )
  assert.ok(certain > 0)
})

test('one request after the other: hits go by the shortcut, also behind others that do not', async (t) => {
  const { url } = await startBoth(t)
  const sending = t.mock.method(PlainReply.prototype, 'sendWhole')
  const client = await rawClient(url)
  const order = ['miss', 'hit', 'passed', 'hit', 'posted', 'sent', 'hit'] as const
  let expected = 0
  await ask(url, rangePath(known))
  const before = sending.mock.callCount()
  for (const [n, kind] of order.entries()) {
    client.write(messages[kind]!(n).bytes)
    expected++
    await until(() => client.received().toString('latin1').split('HTTP/1.1 200 OK').length - 1 === expected)
    const isWhole = () => {
      try {
        return answersOnWire(client.received(), []).length === expected
      } catch {
        return false
      }
    }
    await until(isWhole)
  }
  const byShortcut = sending.mock.calls.slice(before).filter(({ result }) => result === true).length
  assert.equal(byShortcut, 4, 'the hits')
  client.socket.destroy()
})

for (const [isOn, answered] of [
  [false, 0],
  [true, 1],
] as const) {
  test(`${isOn ? 'switched on, a hit goes' : 'switched off, nothing goes'} by the shortcut`, async (t) => {
    const { url } = await startBoth(t, { runtime: { ...allOn, shortcut: isOn } })
    const sending = t.mock.method(PlainReply.prototype, 'sendWhole')
    for (const outcome of ['miss/absent', 'hit']) {
      const answer = await ask(url, rangePath(known), { headers: { Connection: 'keep-alive' } })
      assert.equal(outcomeOf(answer), outcome)
    }
    assert.equal(sending.mock.calls.filter(({ result }) => result === true).length, answered)
  })
}

test('a header that cannot be sent is refused as node:http refuses it, and splits no answer', async () => {
  const socket = { cork() {}, uncork() {}, write: () => assert.fail('nothing is written') }
  const connection = { socket, clock: fakeClock(NOW), nodeResponse: () => undefined }
  const reply = new PlainReply(connection as unknown as ConstructorParameters<typeof PlainReply>[0])
  for (const value of ['a\r\nSet-Cookie: b', 'a\nb', 'a\0', 'a\u0100']) {
    assert.equal(reply.sendWhole(200, { given: ['X-Id', value], own: [] }, [Buffer.from('x')]), false)
  }
})

test('answers without a body, and answers that were begun otherwise, are left to node:http', () => {
  const socket = { cork() {}, uncork() {}, write: () => assert.fail('nothing is written') }
  const connection = { socket, clock: fakeClock(NOW), nodeResponse: () => undefined }
  const reply = new PlainReply(connection as unknown as ConstructorParameters<typeof PlainReply>[0])
  for (const status of [204, 304]) {
    assert.equal(reply.sendWhole(status, { given: [], own: [] }, [Buffer.alloc(0)]), false)
  }
})

test('a client that sends request after request and reads nothing is paused, and gets every answer in the end', async (t) => {
  const { url, budget } = await startBoth(t)
  await ask(url, rangePath(known))
  const client = await rawClient(url)
  client.socket.pause()
  const count = 20_000
  // Long requests: what the proxy would read without a pause is far more than what it may hold.
  const { bytes } = message(`GET ${rangePath(known)}`, [`User-Agent: ${'x'.repeat(500)}`])
  const one = Buffer.from(bytes.repeat(100))
  for (let i = 0; i < count / 100; i++) client.socket.write(one)
  await until(() => budget.used > 64 * 1024)
  await steady(() => budget.used)
  assert.ok(budget.used < 256 * 1024, `${budget.used} bytes`)
  client.socket.resume()
  client.write(last.bytes)
  const answers = answersOnWire(await client.closed, [])
  assert.equal(answers.length, count + 1)
  assert.deepEqual([...new Set(answers.map(({ body }) => body))], [answers[0]!.body])
})

test('outcomes on the shortcut are those of any request', async (t) => {
  const { url } = await startBoth(t)
  assert.equal(outcomeOf(await ask(url, rangePath(known))), 'miss/absent')
  assert.equal(outcomeOf(await ask(url, rangePath(known), { headers: { Connection: 'keep-alive' } })), 'hit')
})
