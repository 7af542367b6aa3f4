/** Decoders of compressed answers: they stop when they are no longer needed, and a fast database waits for them. */
import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import { Transform, type TransformCallback } from 'node:stream'
import test, { type TestContext } from 'node:test'
import zlib, { brotliCompressSync, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib'
import { bounded } from '../wait.ts'
import { ask, header, outcomeOf, rawClient, steady, until } from './client.ts'
import { bigMatrix, rangePath } from './matrix.ts'
import type { ScriptedUpstream } from './scripted-upstream.ts'
import { oldRange, startBoth } from './setup.ts'

const MiB = 2 ** 20
const range = oldRange(1, 1)
const path = rangePath(range)
const gzip = { headers: { 'Accept-Encoding': 'gzip' } }
const request = `GET ${path} HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`

/** The decoders made from now on; `make` makes others instead. */
function decoders(t: TestContext, make?: () => Transform): Transform[] {
  const made: Transform[] = []
  const original = zlib.createGunzip
  t.mock.method(zlib, 'createGunzip', () => {
    const decoder = make?.() ?? original()
    made.push(decoder)
    return decoder
  })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  return made
}

/** Forwards its input, but only when it is opened; until then the input is in its queue. */
class Gate extends Transform {
  isOpen = false
  #waiting: (() => void)[] = []

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    if (this.isOpen) done(null, chunk)
    else this.#waiting.push(() => done(null, chunk))
  }

  open(): void {
    this.isOpen = true
    for (const pass of this.#waiting.splice(0)) pass()
  }
}

/** Begins with the body, and ends under the control of the test. */
function beginWith(upstream: ScriptedUpstream, body: Buffer): void {
  upstream.script = (_request, response) => {
    response.writeHead(200, { 'Content-Encoding': 'gzip' })
    response.write(body)
  }
}

const large = { limits: { maxAnswerBytes: 50_000 } }

test('an answer that is too large to be kept is not decoded any further, and passes', async (t) => {
  const made = decoders(t)
  const { url, upstream, budget } = await startBoth(t, large)
  const body = gzipSync(bigMatrix('anna', 4 * MiB, range.start), { level: 0 })
  beginWith(upstream, body.subarray(0, MiB))
  const client = await rawClient(url)
  client.write(request)
  await until(() => made.length === 1 && made[0]!.destroyed)
  upstream.seen[0]!.response.end(body.subarray(MiB))
  const received = await client.closed
  assert.ok(received.includes(body.subarray(-1000)), 'the rest passes undecoded')
  assert.equal(made.length, 1)
  await until(() => budget.used === 0)
})

for (const headers of [{}, { 'Content-Length': 'known' }]) {
  const isKnown = 'Content-Length' in headers
  test(`too large, and all of it came at once, its length ${isKnown ? '' : 'un'}known: it ends`, async (t) => {
    const { url, upstream, budget } = await startBoth(t, large)
    const text = bigMatrix('anna', 2 * MiB, range.start)
    const body = gzipSync(text)
    upstream.script = (_request, response) => {
      const length = isKnown ? { 'Content-Length': body.length } : {}
      response.writeHead(200, { 'Content-Encoding': 'gzip', ...length }).end(body)
    }
    const answer = await bounded(ask(url, path, gzip), () => 'an answer')
    assert.deepEqual([answer.status, header(answer, 'content-encoding')], [200, 'gzip'])
    assert.ok(gunzipSync(answer.body).equals(text))
    await until(() => budget.used === 0)
  })
}

test('a client that goes takes its decoder with it', async (t) => {
  const made = decoders(t)
  const { url, upstream, budget } = await startBoth(t)
  beginWith(upstream, gzipSync(bigMatrix('anna', 4 * MiB, range.start), { level: 0 }).subarray(0, MiB))
  const client = await rawClient(url)
  client.write(request)
  await client.has('HTTP/1.1 200')
  await until(() => made.length === 1 && budget.used > 0)
  client.socket.destroy()
  assert.equal(await upstream.seen[0]!.finished, false)
  await until(() => made[0]!.destroyed && budget.used === 0)
})

test('a database that is quicker than the decoder waits for it', async (t) => {
  const made = decoders(t, () => new Gate())
  const { url, upstream } = await startBoth(t)
  // The gate takes plain bytes for encoded ones.
  const body = bigMatrix('anna', 40 * MiB, range.start)
  upstream.script = (_request, response) =>
    void response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(body)
  const pending = ask(url, path, gzip)
  await until(() => made.length === 1)
  await steady(() => made[0]!.writableLength)
  const queued = made[0]!.writableLength
  ;(made[0] as Gate).open()
  const answer = await pending
  assert.ok(queued > 0 && queued < MiB, `${queued} bytes are queued`)
  assert.ok(answer.body.equals(body))
  const hit = await ask(url, path)
  assert.equal(outcomeOf(hit), 'hit')
  assert.ok(hit.body.equals(body))
})

const labels = '{"status":"success","data":["a"]}'

for (const encoding of ['GZIP', 'deflate', 'Deflate']) {
  test(`Content-Encoding: ${encoding} is decoded`, async (t) => {
    const { url, upstream } = await startBoth(t)
    const pack = encoding === 'GZIP' ? gzipSync : deflateSync
    for (const [target, status, body] of [
      ['/api/v1/labels', 200, labels],
      ['/api/v1/series?match[]=x', 400, '{"status":"error"}'],
    ] as const) {
      upstream.script = (_request, response) =>
        void response.writeHead(status, { 'Content-Encoding': encoding }).end(pack(body))
      const answer = await ask(url, target)
      assert.deepEqual([answer.status, answer.body.toString()], [status, body])
      assert.equal(header(answer, 'content-encoding'), undefined)
    }
    assert.equal(outcomeOf(await ask(url, '/api/v1/labels')), 'hit')
  })
}

for (const [target, status] of [
  [path, 200],
  ['/api/v1/labels', 200],
  [`/api/v1/query?query=up&time=${range.end / 1000}`, 200],
  [path, 400],
  ['/api/v1/labels', 400],
  ['/api/v1/labels', 500],
] as const) {
  test(`an answer ${status} in an encoding that was not accepted passes as it is: ${target.slice(0, 20)}`, async (t) => {
    const { url, upstream, budget } = await startBoth(t)
    const body = brotliCompressSync(labels)
    upstream.script = (_request, response) =>
      void response.writeHead(status, { 'Content-Encoding': 'br' }).end(body)
    for (let i = 0; i < 2; i++) {
      const answer = await ask(url, target)
      assert.deepEqual([answer.status, header(answer, 'content-encoding')], [status, 'br'])
      assert.ok(answer.body.equals(body))
    }
    assert.equal(budget.used, 0)
  })
}

const asItIs = (body: Buffer) => body

for (const [encoding, pack, unpack] of [
  ['identity', asItIs, asItIs],
  ['gzip', gzipSync, gunzipSync],
  ['deflate', deflateSync, inflateSync],
] as const) {
  for (const [target, valid] of [
    [path, bigMatrix('anna', 100, range.start)],
    [path, bigMatrix('anna', MiB, range.start)],
    ['/api/v1/labels', Buffer.from('{"status":"success","data":["anna"]}')],
  ] as const) {
    test(`an answer that is no JSON passes, and is not stored: ${encoding}, ${valid.length} bytes of ${target.slice(0, 15)}`, async (t) => {
      const { url, upstream } = await startBoth(t)
      const answerWith = (body: Buffer) => {
        const packed = pack(body)
        upstream.script = (_request, response) => {
          response.writeHead(200, { 'Content-Encoding': encoding })
          response.write(packed.subarray(0, 60), () => void response.end(packed.subarray(60)))
        }
      }
      const accepting = { headers: { 'Accept-Encoding': encoding } }
      const answered = async () => {
        const answer = await ask(url, target, accepting)
        const isPacked = (header(answer, 'content-encoding') ?? 'identity') !== 'identity'
        return { outcome: outcomeOf(answer), body: isPacked ? unpack(answer.body) : answer.body }
      }
      const name = valid.indexOf('anna')
      answerWith(Buffer.concat([valid.subarray(0, name), Buffer.from('\u0001'), valid.subarray(name)]))
      for (let i = 0; i < 2; i++) {
        const { outcome, body } = await answered()
        assert.deepEqual([outcome, body.length, body[name]], ['miss/absent', valid.length + 1, 1])
      }
      assert.equal(upstream.seen.length, 2)
      answerWith(valid)
      for (const expected of ['miss/absent', 'hit']) {
        const { outcome, body } = await answered()
        assert.equal(outcome, expected)
        assert.ok(body.equals(valid))
      }
    })
  }
}
