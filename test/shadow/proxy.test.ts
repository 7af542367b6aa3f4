/** Shadow mode at the sockets: clients get the database's bytes, and the work beside it does not affect them. */
import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import test, { type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { ask, askPlainly, header, outcomeOf, until } from '../proxy/client.ts'
import { bigMatrix, matrix, rangePath, series } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { NOW, oldRange } from '../proxy/setup.ts'
import { sumMetric } from '../servers/metrics-text.ts'
import { type ProxyRigOptions, postMode, reportOf, settingsOf, startShadowedProxy } from './proxy-rig.ts'

const MiB = 2 ** 20
const range = oldRange(1, 10)
const path = rangePath(range)

async function start(t: TestContext, options: Partial<ProxyRigOptions> = {}) {
  const clock = fakeClock(NOW)
  const upstream = await startScriptedUpstream(t)
  const passTime = () => clock.advance(60_000)
  const proxy = await startShadowedProxy(t, { upstream: upstream.url, clock, passTime, ...options })
  /** The findings, once all pending work is done. */
  const report = async () => {
    await clock.advance(0)
    return reportOf(proxy.admin)
  }
  return { clock, upstream, report, proxy, url: proxy.url, admin: proxy.admin }
}

test('the client gets the bytes and headers of the database, and Cache-Status has the would-be outcome', async (t) => {
  const { url, upstream, report } = await start(t)
  for (const would of ['would be miss', 'would be hit']) {
    const through = await ask(url, path)
    const direct = await askPlainly(upstream.url, path)
    assert.deepEqual(through.body, direct.body)
    assert.equal(header(through, 'vary'), header(direct, 'vary'))
    assert.equal(outcomeOf(through), 'bypass/shadow')
    assert.match(
      header(through, 'cache-status')!,
      new RegExp(`fwd=bypass; fwd-status=200; detail="[^"]*\\(${would}\\)"`),
    )
    assert.equal(header(through, 'age'), undefined)
  }
  const { comparisons, equal, wouldBe, verdict } = await report()
  assert.deepEqual([comparisons, equal, wouldBe, verdict], [2, 2, { hit: 1, partial: 0, miss: 1 }, 'wait'])
  // Two direct ones, and one for each of ours.
  assert.equal(upstream.seen.length, 4)
})

test('a compressed answer is passed on as it came, and split all the same', async (t) => {
  const { url, upstream, report } = await start(t)
  const packed = gzipSync(matrix([series('up', [`[${range.start / 1000},"1"]`])]))
  upstream.script = (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' })
    response.end(packed)
  }
  const answer = await ask(url, path, { headers: { 'Accept-Encoding': 'gzip' } })
  assert.deepEqual([answer.body, header(answer, 'content-encoding')], [packed, 'gzip'])
  // The client does not wait for the decoder.
  for (let looks = 0; (await report()).equal === 0; looks++) assert.ok(looks < 1000)
})

test('the first byte arrives before the last is sent', async (t) => {
  const { url, upstream, report } = await start(t)
  const text = matrix([series('up', [`[${range.start / 1000},"1"]`])])
  upstream.script = (_request, response) => void response.write(text.slice(0, 30))
  const answer = await new Promise<IncomingMessage>((resolve) => {
    httpRequest(url + path, { agent: false }, resolve).end()
  })
  const chunks: Buffer[] = []
  answer.on('data', (chunk: Buffer) => chunks.push(chunk))
  await until(() => chunks.length > 0)
  assert.equal(Buffer.concat(chunks).toString(), text.slice(0, 30))
  upstream.seen[0]!.response.end(text.slice(30))
  await new Promise((resolve) => answer.once('end', resolve))
  assert.equal(Buffer.concat(chunks).toString(), text)
  assert.equal((await report()).equal, 1)
})

test('an answer that cannot be decoded, split or stored is forwarded to the last byte', async (t) => {
  const { url, upstream, report, proxy, clock } = await start(t, { limits: { maxAnswerBytes: MiB } })
  const used = proxy.memory.used
  const broken = gzipSync(bigMatrix('up', 200_000, range.start)).fill(0, 60, 90)
  const cases: Record<string, [body: Buffer, headers: Record<string, string>]> = {
    'a broken encoding': [broken, { 'Content-Encoding': 'gzip' }],
    'not a matrix': [Buffer.from('{"status":"success","data":{"resultType":"vector","result":[]}}'), {}],
    'too long': [bigMatrix('up', 2 * MiB, range.start), {}],
  }
  for (const [name, [body, headers]] of Object.entries(cases)) {
    upstream.script = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', ...headers })
      response.end(body)
    }
    const answer = await ask(url, path, { headers: { 'Accept-Encoding': 'gzip' } })
    assert.ok(answer.body.equals(body), name)
  }
  await clock.advance(0)
  assert.deepEqual((await report()).skipped, { unusable_answer: 2, too_large: 1 })
  await until(() => proxy.memory.used === used)
})

test('errors are the database’s own, however long, and fetched once', async (t) => {
  const { url, upstream, report } = await start(t)
  await ask(url, path)
  const long = Buffer.alloc(3 * MiB, 'x')
  for (const [status, body] of [
    [400, Buffer.from('{"status":"error"}')],
    [503, long],
  ] as const) {
    upstream.script = (_request, response) => void response.writeHead(status, { 'X-Own': 'yes' }).end(body)
    const answer = await ask(url, path)
    assert.deepEqual(
      [answer.status, header(answer, 'x-own'), answer.body.equals(body)],
      [status, 'yes', true],
    )
    assert.equal(outcomeOf(answer), 'bypass/shadow')
  }
  assert.equal(upstream.seen.length, 3)
  assert.deepEqual((await report()).skipped, { error_answer: 2 })
})

test('a truncated answer is truncated, and an outage is returned, although the answer is stored', async (t) => {
  const { url, upstream, report } = await start(t)
  await ask(url, path)
  upstream.script = (_request, response) => {
    response.writeHead(200, { 'Content-Length': '1000' })
    response.write('{"status"', () => response.destroy())
  }
  await assert.rejects(ask(url, path))
  upstream.script = (_request, response) => void response.destroy()
  const answer = await ask(url, path)
  assert.deepEqual([answer.status, outcomeOf(answer)], [502, 'error/database_unreachable'])
  assert.deepEqual((await report()).skipped, { database_failed: 2 })
})

test('it counts: outcomes, queries to the database, results', async (t) => {
  const { url, upstream, clock, admin } = await start(t)
  for (let i = 0; i < 3; i++) await ask(url, path)
  upstream.generation = 2
  await ask(url, path)
  await clock.advance(0)
  const metrics = (await askPlainly(admin, '/-/metrics')).body.toString()
  const count = (name: string, labels: Record<string, string>) =>
    sumMetric(metrics, `windowpane_${name}`, labels)
  assert.equal(count('requests_total', { outcome: 'bypass', reason: 'shadow', backend: 'main' }), 4)
  assert.equal(count('origin_requests_total', { status: '2xx' }), 4)
  assert.equal(count('origin_interval_seconds_total', { kind: 'fetched' }), 4 * 600)
  assert.equal(count('buckets_total', { source: 'cache' }), 0)
  assert.equal(count('verify_total', { result: 'equal', backend: 'main' }), 3)
  assert.equal(count('verify_total', { result: 'explained', backend: 'main' }), 1)
})

test('a mismatch can be looked at with both bodies', async (t) => {
  const { url, upstream, report, admin } = await start(t)
  await ask(url, path)
  upstream.generation = 2
  await ask(url, path)
  const { mismatches, explained, verdict } = await report()
  assert.deepEqual([mismatches.length, explained, verdict], [1, 1, 'wait'])
  const listed = mismatches[0]!
  const { id, window, buckets, cause, text, cachedBytes } = listed
  assert.deepEqual([cause, text], ['settled_change', 'up'])
  assert.deepEqual(window, {
    from: new Date(range.start).toISOString(),
    to: new Date(range.end + 60_000).toISOString(),
    step: 60_000,
  })
  assert.deepEqual(buckets[0], {
    at: new Date(range.start).toISOString(),
    fetchedAt: new Date(NOW).toISOString(),
    ageMs: NOW - range.start,
    cause: 'settled_change',
    columns: ['{"metric":{"__name__":"up"}'],
    cached: `[${range.start / 1000},"1"],`,
    direct: `[${range.start / 1000},"2"],`,
  })
  assert.deepEqual(['cached' in listed, 'direct' in listed], [false, false])
  const one = JSON.parse((await askPlainly(admin, `/-/shadow/${id}`)).body.toString())
  assert.deepEqual(
    [one.id, one.cached.length, one.direct],
    [id, cachedBytes, one.cached.replaceAll('"1"', '"2"')],
  )
  for (const strange of ['999', '', '../status', '%00']) {
    assert.equal(
      (await askPlainly(admin, `/-/shadow/${strange}`)).status,
      strange === '../status' ? 200 : 404,
      strange,
    )
  }
  assert.equal((await askPlainly(admin, '/-/shadow/1/2')).status, 404)
  assert.equal((await askPlainly(admin, '/-/shadow', { method: 'POST' })).status, 405)
})

test('modes are switched without an effect on clients, until the next reload', async (t) => {
  const { url, admin, proxy } = await start(t)
  await ask(url, path)
  assert.deepEqual(await postMode(admin, { backend: 'main', mode: 'on' }), [
    200,
    { backend: 'main', mode: 'on', was: 'shadow' },
  ])
  assert.equal(outcomeOf(await ask(url, path)), 'hit')
  assert.equal((await reportOf(admin)).mode, 'on')
  await postMode(admin, { backend: 'main', mode: 'off' })
  assert.equal(outcomeOf(await ask(url, path)), 'bypass/switched_off')
  proxy.settings = settingsOf('shadow')
  assert.equal(outcomeOf(await ask(url, path)), 'bypass/shadow')
  assert.equal((await reportOf(admin)).mode, 'shadow')
})

test('switching to shadow begins a new report', async (t) => {
  const { url, admin, report } = await start(t)
  await ask(url, path)
  assert.equal((await report()).comparisons, 1)
  await postMode(admin, { backend: 'main', mode: 'on' })
  assert.equal((await report()).comparisons, 1)
  await postMode(admin, { backend: 'main', mode: 'shadow' })
  assert.equal((await report()).comparisons, 0)
})

test('a mode that cannot be set is reported, and nothing changes', async (t) => {
  const { admin, url } = await start(t)
  const expected = /expected \{"backend": name, "mode": one of off, shadow, on\}/
  for (const body of [
    '',
    '{',
    '[]',
    'null',
    '7',
    {},
    { backend: 'main' },
    { backend: 'main', mode: 'loud' },
    { backend: 7, mode: 'on' },
    { backend: 'main', mode: 'on', for: '1h' },
  ]) {
    const [status, said] = await postMode(admin, body)
    assert.equal(status, 400)
    assert.match(String(said), expected)
  }
  const [status, said] = await postMode(admin, { backend: '__proto__', mode: 'on' })
  assert.equal(status, 400)
  assert.match(String(said), /there is no backend "__proto__"; there are: main/)
  assert.equal(outcomeOf(await ask(url, path)), 'bypass/shadow')
})

test('without leave to write, modes stay and reports are read', async (t) => {
  const { admin } = await start(t, { allowsWrites: false })
  const [status, said] = await postMode(admin, { backend: 'main', mode: 'on' })
  assert.equal(status, 403)
  assert.match(String(said), /admin\.allowWrites/)
  assert.equal((await reportOf(admin)).mode, 'shadow')
})

test('an explanation describes shadow mode, and the decision without it', async (t) => {
  const { admin, url, upstream } = await start(t)
  const explain = async () => {
    const answer = await askPlainly(admin, '/-/explain', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: path.split('?')[1]!,
    })
    return JSON.parse(answer.body.toString())
  }
  const cold = await explain()
  assert.deepEqual([cold.outcome, cold.reason, cold.detail], ['bypass', 'shadow', 'would be miss'])
  assert.match(cold.sentence, /^Shadow: the request would be forwarded unchanged, .* Switched on: Miss: /)
  await ask(url, path)
  const warm = await explain()
  assert.match(warm.sentence, /Switched on: Hit: all 10 buckets/)
  assert.deepEqual(
    [warm.detail, warm.asked.buckets, warm.asked.path],
    ['would be hit', 10, '/api/v1/query_range'],
  )
  assert.equal(upstream.seen.length, 1)
})
