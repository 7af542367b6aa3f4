/** The headers of every outcome. Each answer's Cache-Status is parsed by `ask`; here its parameters count. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { type Answer, ask, header, outcomeOf, statusOf, values } from './client.ts'
import { rangePath } from './matrix.ts'
import { NOW, oldRange, startBoth } from './setup.ts'
import { parseServerTiming } from './structured-fields.ts'

const minute = 60_000
const range = oldRange()
const path = rangePath(range)
const parameter = (answer: Answer, name: string) => statusOf(answer).parameters.get(name)

function checkTiming(answer: Answer): void {
  const timing = parseServerTiming(values(answer, 'server-timing').at(-1)!)
  assert.deepEqual([...timing.keys()], ['plan', 'lookup', 'fetch', 'total'])
}

test('miss, hit, partial and stale have age, ttl and the fetched buckets', async (t) => {
  const { url, clock, upstream } = await startBoth(t)
  const miss = await ask(url, path)
  assert.equal(outcomeOf(miss), 'miss/absent')
  assert.equal(parameter(miss, 'fwd'), 'miss')
  assert.equal(parameter(miss, 'fwd-status'), 200)
  assert.equal(header(miss, 'age'), undefined)
  await clock.advance(42_900)
  const hit = await ask(url, path)
  assert.equal(outcomeOf(hit), 'hit')
  assert.equal(parameter(hit, 'hit'), true)
  assert.equal(parameter(hit, 'ttl'), 3600 - 42)
  assert.equal(header(hit, 'age'), '42')
  const partial = await ask(url, rangePath({ ...range, end: range.end + minute }))
  assert.equal(outcomeOf(partial), 'partial/absent')
  assert.deepEqual([parameter(partial, 'fwd'), parameter(partial, 'stored')], ['partial', true])
  assert.deepEqual([statusOf(partial).asked, header(partial, 'age')], [1, '42'])
  await clock.advance(3_600_000)
  upstream.script = (_request, response) => void response.writeHead(503).end()
  const stale = await ask(url, path)
  assert.equal(outcomeOf(stale), 'stale/database_error')
  assert.equal(parameter(stale, 'hit'), true)
  assert.equal(parameter(stale, 'ttl'), -43)
  assert.equal(header(stale, 'age'), '3642')
  for (const answer of [miss, hit, partial, stale]) checkTiming(answer)
})

test('an expired answer is a miss by the clock’s verdict', async (t) => {
  const { url, clock } = await startBoth(t)
  // It is not requested shortly before it expires, which would refresh it.
  const unasked = rangePath({ ...range, query: 'unasked' })
  await ask(url, path)
  await ask(url, unasked)
  await clock.advance(3_599_999)
  assert.equal(parameter(await ask(url, path), 'ttl'), 1)
  await clock.advance(1)
  const expired = await ask(url, unasked)
  assert.deepEqual([outcomeOf(expired), parameter(expired, 'fwd')], ['miss/expired', 'stale'])
  await clock.advance(1)
  const reloaded = await ask(url, path, { headers: { 'Cache-Control': 'no-cache' } })
  assert.deepEqual([outcomeOf(reloaded), parameter(reloaded, 'fwd')], ['miss/revalidate', 'request'])
})

/** Nothing in it is about an answer that was not given. */
function checkNoLeftovers(answer: Answer, outcome: string): void {
  assert.equal(outcomeOf(answer), outcome)
  assert.deepEqual(values(answer, 'age'), [])
  for (const name of ['hit', 'ttl', 'stored', 'collapsed']) assert.equal(parameter(answer, name), undefined)
  assert.doesNotMatch(String(parameter(answer, 'detail')), /(?:asked|buckets|missing)=/)
}

test('notes of a partial answer do not survive into another', async (t) => {
  const { url, clock, upstream } = await startBoth(t)
  await ask(url, path)
  await clock.advance(42_000)
  const wider = rangePath({ ...range, end: range.end + minute })
  for (const [status, body, outcome] of [
    [422, '{"status":"error"}', 'error/database_refused'],
    [302, 'elsewhere', 'error/database_refused'],
    [500, 'broken', 'error/database_error'],
    [200, 'surprise', 'bypass/unusable_answer'],
  ] as const) {
    upstream.script = (_request, response) => void response.writeHead(status).end(body)
    const answer = await ask(url, wider)
    assert.deepEqual([answer.status, answer.body.toString()], [status, body])
    checkNoLeftovers(answer, outcome)
  }
  const refused = await ask(url, wider, { headers: { 'Cache-Control': 'only-if-cached' } })
  checkNoLeftovers(refused, 'refused/only_if_cached')
  await upstream.close()
  checkNoLeftovers(await ask(url, wider), 'error/database_unreachable')
})

test('notes of a full miss do not survive into the database’s refusal', async (t) => {
  const { url, upstream } = await startBoth(t)
  for (const status of [302, 404, 422]) {
    upstream.script = (_request, response) => void response.writeHead(status).end('no')
    const answer = await ask(url, path)
    assert.deepEqual([answer.status, parameter(answer, 'fwd-status')], [status, status])
    checkNoLeftovers(answer, 'error/database_refused')
  }
})

test('notes of a hit do not survive into its bypass', async (t) => {
  const { url, clock, budget } = await startBoth(t)
  await ask(url, path)
  await clock.advance(42_000)
  t.mock.method(budget, 'reserve', () => false)
  // By node:http: the shortcut sends a short answer without reserving memory.
  const answer = await ask(url, path, { headers: { Connection: 'close' } })
  checkNoLeftovers(answer, 'bypass/memory_exhausted')
})

test('bypass, refusals and errors have a reason', async (t) => {
  const { url, upstream } = await startBoth(t)
  const bypass = await ask(url, rangePath({ ...range, query: 'abs(sort(up))' }))
  assert.equal(outcomeOf(bypass), 'bypass/sorting')
  assert.equal(parameter(bypass, 'fwd'), 'bypass')
  const refused = await ask(url, path, { headers: { 'Cache-Control': 'only-if-cached' } })
  assert.equal(parameter(refused, 'fwd'), undefined)
  upstream.script = (_request, response) => void response.writeHead(422).end('{"status":"error"}')
  const wrong = await ask(url, path)
  assert.deepEqual([wrong.status, parameter(wrong, 'fwd-status')], [422, 422])
  assert.equal(wrong.body.toString(), '{"status":"error"}')
  upstream.script = (_request, response) => void response.writeHead(500, { 'X-Why': 'x' }).end('broken')
  const broken = await ask(url, path)
  assert.equal(outcomeOf(broken), 'error/database_error')
  assert.deepEqual([broken.status, broken.body.toString()], [500, 'broken'])
  assert.equal(header(broken, 'x-why'), 'x')
  await upstream.close()
  const gone = await ask(url, path)
  assert.equal(outcomeOf(gone), 'error/database_unreachable')
  for (const answer of [bypass, refused, wrong, broken, gone]) checkTiming(answer)
})

test('every bypass that a request can cause is named', async (t) => {
  const { url } = await startBoth(t, { limits: { maxBuckets: 100 } })
  const cases: Record<string, string> = {
    [rangePath(range, { limit: '5' })]: 'limit',
    [rangePath(range, { stats: 'all' })]: 'stats',
    [rangePath({ ...range, end: range.start + 100 * minute })]: 'too_many_buckets',
    [rangePath({ ...range, query: 'up @ start()' })]: 'depends_on_range',
    [rangePath({ ...range, query: 'up offset (5m)' })]: 'unsafe_offset',
    [rangePath({ ...range, query: `up @ ${NOW / 1000}` })]: 'recent_at_modifier',
    [rangePath({ ...range, query: 'up{' })]: 'unparseable_query',
    [rangePath({ ...range, end: range.start - 1 })]: 'invalid_parameter',
    '/api/v1/query_range?query=up': 'missing_parameter',
    [`${path}&a=%zz`]: 'malformed_request',
    '/api/v1/targets': 'not_a_range_query',
  }
  for (const [target, reason] of Object.entries(cases)) {
    assert.equal(outcomeOf(await ask(url, target)), `bypass/${reason}`, target)
  }
})

test('headers of other caches and timings of the database stay', async (t) => {
  const { url, upstream } = await startBoth(t)
  upstream.script = (_request, response) => {
    const headers = { 'Cache-Status': 'other; hit', 'Server-Timing': 'db;dur=5', Age: '7' }
    response.writeHead(200, headers).end()
  }
  const answer = await ask(url, '/x')
  assert.equal(values(answer, 'cache-status')[0], 'other; hit')
  assert.equal(values(answer, 'server-timing')[0], 'db;dur=5')
  assert.deepEqual(values(answer, 'age'), ['7'])
})

test('GET and POST share stored buckets', async (t) => {
  const { url } = await startBoth(t)
  await ask(url, path)
  const posted = await ask(url, '/api/v1/query_range', {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: path.split('?')[1]!,
  })
  assert.equal(outcomeOf(posted), 'hit')
})
