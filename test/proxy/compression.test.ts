/** Content encodings on both sides. */
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import test from 'node:test'
import { deflateSync, gunzipSync, gzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { type Answer, ask, header, outcomeOf, until } from './client.ts'
import { bigMatrix, matrixFor, rangePath } from './matrix.ts'
import { sent } from './scripted-upstream.ts'
import { oldRange, startBoth } from './setup.ts'

const range = oldRange()
const path = rangePath(range)
const wider = rangePath({ ...range, end: range.end + 60_000 })
const paramsOf = (target: string) => new URL(target, 'http://x').searchParams
const plain = (target: string): string => matrixFor(paramsOf(target), 1)

function decoded(answer: Answer): string {
  const encoding = header(answer, 'content-encoding')
  if (encoding === undefined) return answer.body.toString()
  return (encoding === 'gzip' ? gunzipSync(answer.body) : inflateSync(answer.body)).toString()
}

/** As Prometheus does it: the first of the two that the client names. */
const compressing: RequestListener = (request, response) => {
  const accepted = String(request.headers['accept-encoding'] ?? '')
  const encoding = ['gzip', 'deflate'].find((name) => name === accepted.split(',')[0]!.trim())
  const body = Buffer.from(plain(request.url!))
  response.writeHead(200, {
    'Content-Type': 'application/json',
    Vary: 'Accept-Encoding',
    ...(encoding && { 'Content-Encoding': encoding }),
  })
  response.end(encoding === 'gzip' ? gzipSync(body) : encoding === 'deflate' ? deflateSync(body) : body)
}

for (const encoding of ['gzip', 'deflate', undefined] as const) {
  test(`miss, hit and partial in ${encoding ?? 'no encoding'}`, async (t) => {
    const { url, upstream } = await startBoth(t)
    upstream.script = compressing
    const given = encoding === undefined ? {} : { headers: { 'Accept-Encoding': `${encoding}, br` } }
    for (const [target, outcome] of [
      [path, 'miss/absent'],
      [path, 'hit'],
      [wider, 'partial/absent'],
      [wider, 'hit'],
    ] as const) {
      const answer = await ask(url, target, given)
      assert.equal(outcomeOf(answer), outcome)
      assert.equal(header(answer, 'content-encoding'), encoding)
      assert.equal(header(answer, 'vary'), 'Accept-Encoding')
      assert.equal(decoded(answer), plain(target))
      const length = header(answer, 'content-length')
      if (length !== undefined) assert.equal(length, String(answer.body.length))
    }
  })
}

test('an answer that one client got compressed another gets plain', async (t) => {
  const { url, upstream } = await startBoth(t)
  upstream.script = compressing
  await ask(url, path, { headers: { 'Accept-Encoding': 'gzip' } })
  const answer = await ask(url, path)
  assert.deepEqual([outcomeOf(answer), answer.body.toString()], ['hit', plain(path)])
})

test('a client that reads zstd gets our own answers in it, and those of the database as it sends them', async (t) => {
  const { url, upstream } = await startBoth(t)
  upstream.script = compressing
  const given = { headers: { 'Accept-Encoding': 'gzip, deflate, br, zstd' } }
  const miss = await ask(url, path, given)
  assert.deepEqual([header(miss, 'content-encoding'), decoded(miss)], ['gzip', plain(path)])
  for (let turn = 0; turn < 2; turn++) {
    const hit = await ask(url, path, given)
    assert.deepEqual([outcomeOf(hit), header(hit, 'content-encoding')], ['hit', 'zstd'])
    assert.equal(zstdDecompressSync(hit.body).toString(), plain(path))
  }
})

test('many clients that want the same compressed answer at once get it, and it equals the stored one', async (t) => {
  const { url, upstream } = await startBoth(t)
  upstream.script = compressing
  await ask(url, path)
  const given = { headers: { 'Accept-Encoding': 'gzip' } }
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(url, path, given)))
  for (const answer of answers) assert.equal(decoded(answer), plain(path))
  await ask(url, wider, given)
  assert.equal(decoded(await ask(url, wider, given)), plain(wider))
  assert.equal(decoded(await ask(url, path, given)), plain(path))
})

test('an unrequested compressed answer is understood', async (t) => {
  const { url, upstream } = await startBoth(t)
  upstream.script = (request, response) => {
    response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(gzipSync(plain(request.url!)))
  }
  const miss = await ask(url, path)
  assert.equal(decoded(miss), plain(path))
  const hit = await ask(url, path)
  assert.equal(outcomeOf(hit), 'hit')
  assert.deepEqual([header(hit, 'content-encoding'), hit.body.toString()], [undefined, plain(path)])
  const partial = await ask(url, wider)
  assert.equal(outcomeOf(partial), 'partial/absent')
  assert.deepEqual([header(partial, 'content-encoding'), partial.body.toString()], [undefined, plain(wider)])
})

test('errors of the database keep their encoding or lose it whole', async (t) => {
  const { url, upstream } = await startBoth(t)
  const error = '{"status":"error","errorType":"execution","error":"no"}'
  for (const status of [422, 503]) {
    upstream.script = (_request, response) => {
      response.writeHead(status, { 'Content-Encoding': 'gzip' }).end(gzipSync(error))
    }
    const answer = await ask(url, path, { headers: { 'Accept-Encoding': 'gzip' } })
    assert.deepEqual([answer.status, decoded(answer)], [status, error])
  }
  upstream.script = compressing
  await ask(url, path)
  upstream.script = (_request, response) => {
    response.writeHead(422, { 'Content-Encoding': 'gzip' }).end(gzipSync(error))
  }
  const partial = await ask(url, wider)
  assert.equal(outcomeOf(partial), 'error/database_refused')
  assert.deepEqual([partial.status, decoded(partial)], [422, error])
})

test('broken gzip is never stored and never taken for whole', async (t) => {
  const { url, upstream } = await startBoth(t)
  const whole = gzipSync(plain(path))
  for (const body of [Buffer.from('not gzip'), whole.subarray(0, whole.length - 12), Buffer.alloc(0)]) {
    upstream.script = (_request, response) => {
      response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(body)
    }
    const gzip = { headers: { 'Accept-Encoding': 'gzip' } }
    // It may be passed on as it is, or broken off: the client must be able to see that it is not an answer.
    await ask(url, path, gzip).then(
      (answer) => assert.ok(answer.status === 502 || answer.body.equals(body)),
      () => {},
    )
  }
  upstream.script = compressing
  assert.equal(outcomeOf(await ask(url, path)), 'miss/absent')
  upstream.script = (_request, response) => {
    response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('not gzip')
  }
  const partial = await ask(url, wider)
  assert.equal(partial.status, 502)
  assert.match(JSON.parse(partial.body.toString()).error, /broken gzip body/)
  assert.equal(outcomeOf(await ask(url, path)), 'hit')
})

test('an encoding that is not known is passed on and not cut', async (t) => {
  const { url, upstream } = await startBoth(t)
  upstream.script = (_request, response) => {
    response.writeHead(200, { 'Content-Encoding': 'zstd' }).end('whatever')
  }
  for (let i = 0; i < 2; i++) {
    const answer = await ask(url, path, { headers: { 'Accept-Encoding': 'zstd' } })
    assert.equal(outcomeOf(answer), 'miss/absent')
    assert.deepEqual([header(answer, 'content-encoding'), answer.body.toString()], ['zstd', 'whatever'])
  }
})

test('a forwarded request keeps the client’s Accept-Encoding', async (t) => {
  const { url, upstream } = await startBoth(t)
  await ask(url, '/x', { headers: { 'Accept-Encoding': 'br;q=1.0, gzip;q=0.5' } })
  await ask(url, '/x')
  assert.deepEqual(
    upstream.seen.map((seen) => sent(seen, 'accept-encoding')),
    [['br;q=1.0, gzip;q=0.5'], []],
  )
})

test('a client with all of a compressed answer finds it stored', async (t) => {
  const { url, upstream } = await startBoth(t)
  const range = oldRange(1, 1)
  const body = gzipSync(bigMatrix('x', 8 << 20, range.start))
  upstream.script = (_request, response) => {
    response.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': body.length }).end(body)
  }
  // Decoding takes longer than sending: without care the last byte arrives before the buckets are in the store.
  const gzip = { headers: { 'Accept-Encoding': 'gzip' } }
  assert.equal(outcomeOf(await ask(url, rangePath(range), gzip)), 'miss/absent')
  assert.equal(outcomeOf(await ask(url, rangePath(range), gzip)), 'hit')
})

test('a plain answer of thousands of series is cached as a whole when it is requested again, and is the same', async (t) => {
  const { url, upstream, budget } = await startBoth(t)
  const series = Array.from({ length: 3000 }, (_, i) => {
    const points = [0, 1, 2].map((bucket) => `[${(range.start + bucket * 60_000) / 1000},"${i}"]`)
    return `{"metric":{"n":"${String(i).padStart(5, '0')}"},"values":[${points.join(',')}]}`
  })
  const body = `{"status":"success","data":{"resultType":"matrix","result":[${series.join(',')}]}}`
  upstream.script = (_request, response) => void response.end(body)
  await ask(url, path)
  const used: number[] = []
  for (let turn = 0; turn < 4; turn++) {
    const answer = await ask(url, path)
    assert.deepEqual([outcomeOf(answer), answer.body.toString()], ['hit', body])
    await until(() => budget.used < 3 * body.length)
    used.push(budget.used)
  }
  assert.ok(used[1]! >= used[0]! + body.length, `${used}`)
  assert.deepEqual(used.slice(2), [used[1], used[1]])
})
