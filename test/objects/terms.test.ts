/** How long an answer that is cached as a whole is used, and the demands of clients and of the database. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { ask, header, outcomeOf, statusOf, until } from '../proxy/client.ts'
import { json } from '../proxy/scripted-upstream.ts'
import { list, startRig } from './rig.ts'

const labels = '/api/v1/labels'
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }

test('the second request never reaches the database, and has the age of its answer', async (t) => {
  const { url, clock, asked, ...rig } = await startRig(t)
  assert.equal(asked, 0)
  const first = await ask(url, labels)
  assert.deepEqual([outcomeOf(first), statusOf(first).parameters.get('stored')], ['miss/absent', true])
  await clock.advance(7_500)
  const second = await ask(url, labels)
  assert.equal(outcomeOf(second), 'hit')
  assert.deepEqual(second.body, first.body)
  assert.equal(header(second, 'age'), '7')
  assert.equal(statusOf(second).parameters.get('ttl'), 52)
  assert.equal(header(second, 'content-type'), 'application/json')
  assert.equal(rig.upstream.seen.length, 1)
})

test('fresh, then stale while it is fetched again, then only where the database fails, then not at all', async (t) => {
  const rig = await startRig(t)
  const { url, clock, upstream } = rig
  const at = async (ms: number) => {
    await clock.advance(ms)
    return ask(url, labels)
  }
  const shown = (answer: Awaited<ReturnType<typeof at>>) => [
    outcomeOf(answer),
    statusOf(answer).parameters.get('ttl'),
  ]
  await at(0)
  assert.deepEqual(shown(await at(59_999)), ['hit', 0])
  upstream.script = (_request, response) => response.writeHead(503).end('down')
  assert.deepEqual(shown(await at(1)), ['hit', 0])
  await until(() => rig.asked === 2)
  assert.deepEqual(shown(await at(1_000)), ['hit', -1])
  const late = await at(600_000)
  assert.deepEqual(shown(late), ['stale/database_error', -601])
  assert.equal(header(late, 'age'), '661')
  assert.equal((await at(43_200_000)).status, 503)
  upstream.script = list('c')
  assert.equal(outcomeOf(await at(0)), 'miss/expired')
})

test('under a staleness budget, answers that do not change stay fresh for longer and longer', async (t) => {
  const rig = await startRig(t, { whole: { endpoints: { labels: { enabled: true, staleness: 0.05 } } } })
  const shown = async (afterMs: number) => {
    await rig.clock.advance(afterMs)
    return outcomeOf(await ask(rig.url, labels))
  }
  // Each time it is fetched while the client waits: so that it is known when that is over.
  for (let i = 0; i < 11; i++) await shown(3_600_000)
  assert.equal(rig.asked, 11)
  assert.equal(await shown(500_000), 'hit')
  assert.equal(rig.asked, 11, 'unchanged for ten hours: eight minutes are within the budget')
  for (let i = 0; i < 20; i++) {
    rig.upstream.script = list(`v${i}`)
    await shown(3_600_000)
  }
  assert.equal(rig.asked, 31)
  assert.equal(await shown(500_000), 'miss/expired')
})

test('an answer that is fetched again in the background is the next one', async (t) => {
  const rig = await startRig(t)
  await ask(rig.url, labels)
  rig.upstream.script = list('new')
  await rig.clock.advance(61_000)
  const stale = await ask(rig.url, labels)
  assert.match(stale.body.toString(), /"a"/)
  await until(() => rig.asked === 2)
  await rig.upstream.seen[1]!.finished
  let next = ''
  while (!next.includes('new')) next = (await ask(rig.url, labels)).body.toString()
  assert.equal(rig.asked, 2)
})

test('questions that differ only in how they are written share an answer', async (t) => {
  const rig = await startRig(t)
  await ask(rig.url, `${labels}?start=1&match[]=a&match[]=b`)
  for (const path of [`${labels}?match[]=a&start=1&match%5B%5D=b`, `${labels}?match[]=%61&match[]=b&start=1`])
    assert.equal(outcomeOf(await ask(rig.url, path)), 'hit', path)
  const posted = await ask(rig.url, labels, {
    method: 'POST',
    headers: form,
    body: 'match[]=a&match[]=b&start=1',
  })
  assert.equal(outcomeOf(posted), 'hit')
  for (const path of [`${labels}?match[]=b&match[]=a&start=1`, `${labels}?start=2&match[]=a&match[]=b`])
    assert.equal(outcomeOf(await ask(rig.url, path)), 'miss/absent', path)
})

test('a client that has the answer gets a 304', async (t) => {
  const { url } = await startRig(t)
  const tag = header(await ask(url, labels), 'etag')!
  assert.match(tag, /^W\/"[\w-]+"$/)
  const again = await ask(url, labels, { headers: { 'If-None-Match': `"x", ${tag}` } })
  assert.deepEqual([again.status, again.body.length, header(again, 'etag')], [304, 0, tag])
  assert.equal(header(again, 'content-length'), undefined)
  assert.equal(outcomeOf(again), 'hit')
  assert.equal((await ask(url, labels, { headers: { 'If-None-Match': '"x"' } })).status, 200)
})

test('answers are stored once and sent in the encoding that the client reads', async (t) => {
  const { url, upstream } = await startRig(t)
  const plain = await ask(url, labels)
  assert.equal(header(plain, 'vary'), 'Accept-Encoding')
  for (const encoding of ['gzip', 'zstd', 'deflate']) {
    const packed = await ask(url, labels, { headers: { 'Accept-Encoding': encoding } })
    assert.deepEqual([outcomeOf(packed), header(packed, 'content-encoding')], ['hit', encoding])
  }
  assert.equal(upstream.seen.length, 1)
})

test('demands of a client: no-store, no-cache, max-age, only-if-cached', async (t) => {
  const rig = await startRig(t)
  const demand = async (value: string) => {
    const answer = await ask(rig.url, labels, { headers: { 'Cache-Control': value } })
    return [outcomeOf(answer), rig.asked]
  }
  assert.deepEqual(await demand('only-if-cached'), ['refused/only_if_cached', 0])
  assert.deepEqual(await demand('no-store'), ['bypass/no_store', 1])
  assert.deepEqual(await demand('only-if-cached'), ['refused/only_if_cached', 1])
  assert.deepEqual(await demand('max-age=10'), ['miss/revalidate', 2])
  await rig.clock.advance(5_000)
  assert.deepEqual(await demand('max-age=10'), ['hit', 2])
  assert.deepEqual(await demand('only-if-cached'), ['hit', 2])
  await rig.clock.advance(6_000)
  assert.deepEqual(await demand('max-age=10'), ['miss/revalidate', 3])
  await rig.clock.advance(1)
  assert.deepEqual(await demand('no-cache'), ['miss/revalidate', 4])
  assert.deepEqual(await demand('max-age=10'), ['hit', 4])
})

for (const [name, headers, outcome] of [
  ['no-store', { 'Cache-Control': 'no-store' }, 'miss/absent'],
  ['private', { 'Cache-Control': 'private' }, 'miss/absent'],
  ['Vary', { Vary: 'Accept-Language' }, 'miss/absent'],
  ['max-age=0', { 'Cache-Control': 'max-age=0' }, 'miss/absent'],
  ['public', { 'Cache-Control': 'public, max-age=30' }, 'hit'],
] as const) {
  test(`headers of the database count: ${name}`, async (t) => {
    const rig = await startRig(t)
    rig.upstream.script = (_request, response) =>
      response
        .writeHead(200, { 'Content-Type': 'application/json', ...headers })
        .end('{"status":"success","data":[]}')
    const first = await ask(rig.url, labels)
    assert.deepEqual([first.status, outcomeOf(first)], [200, 'miss/absent'])
    assert.equal(outcomeOf(await ask(rig.url, labels)), outcome)
    await rig.clock.advance(30_000)
    assert.match(
      outcomeOf(await ask(rig.url, labels)),
      outcome === 'hit' ? /^miss\/expired$/ : /^miss\/absent$/,
    )
    assert.equal(rig.asked, outcome === 'hit' ? 2 : 3)
  })
}

for (const [name, status, body, isStored] of [
  ['a partial answer', 200, { status: 'success', data: [], warnings: ['a store is down'] }, false],
  [
    'a list that was cut',
    200,
    { status: 'success', data: [], warnings: ['results truncated due to limit'] },
    true,
  ],
  ['an answer with notes', 200, { status: 'success', data: [], infos: ['a note'] }, true],
  ['another status', 203, { status: 'success', data: [] }, false],
  ['an error', 400, { status: 'error' }, false],
  ['an error with status 200', 200, { status: 'error' }, false],
] as const) {
  test(`${name} is ${isStored ? '' : 'not '}stored`, async (t) => {
    const rig = await startRig(t)
    rig.upstream.script = json(status, body)
    for (let i = 0; i < 2; i++) {
      const answer = await ask(rig.url, labels)
      assert.deepEqual([answer.status, JSON.parse(answer.body.toString())], [status, body])
    }
    assert.equal(rig.asked, isStored ? 1 : 2)
  })
}

test('a long answer is passed on and not stored', async (t) => {
  const rig = await startRig(t, { limits: { memoryBytes: 64 * 2 ** 20 } })
  const body = JSON.stringify({
    status: 'success',
    data: Array.from({ length: 200_000 }, (_, i) => `value-${i}`),
  })
  rig.upstream.script = (_request, response) =>
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(body)
  for (let i = 0; i < 2; i++) assert.equal((await ask(rig.url, labels)).body.toString(), body)
  assert.equal(rig.asked, 2)
  rig.upstream.script = list('short')
  await ask(rig.url, labels)
  assert.equal(outcomeOf(await ask(rig.url, labels)), 'hit')
})

test('identities never share, and HEAD or a write is forwarded', async (t) => {
  const rig = await startRig(t)
  const as = (who: string) => ask(rig.url, labels, { headers: { Authorization: `Bearer ${who}` } })
  assert.equal(outcomeOf(await as('a')), 'miss/absent')
  assert.equal(outcomeOf(await as('b')), 'miss/absent')
  assert.equal(outcomeOf(await as('a')), 'hit')
  assert.equal(outcomeOf(await ask(rig.url, labels)), 'miss/absent')
  for (const [path, method] of [
    [labels, 'HEAD'],
    [labels, 'DELETE'],
    ['/api/v1/metadata', 'POST'],
    ['/api/v1/status/runtimeinfo', 'GET'],
    ['/api/v1/targets', 'GET'],
    ['/api/v1/query?query=up&stats=all', 'GET'],
    [`${labels}?a=%zz`, 'GET'],
  ] as const)
    assert.equal(outcomeOf(await ask(rig.url, path, { method })), 'bypass/not_a_range_query', path)
})

test('without a far store answers take no more than their share of the memory', async (t) => {
  const rig = await startRig(t, { limits: { memoryBytes: 2 << 20 } })
  rig.upstream.script = list('x'.repeat(20_000))
  const askFor = async (count: number) => {
    for (let n = 0; n < count; n++) await ask(rig.url, `/api/v1/label/n${n}/values`)
    return rig.asked
  }
  // A sixteenth of the memory has room for six: they are hits, and of ten each evicts one that is requested again.
  assert.deepEqual([await askFor(6), await askFor(6), await askFor(10), await askFor(10)], [6, 6, 10, 20])
})
