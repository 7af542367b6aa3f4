/** Request and response Cache-Control (RFC 9111), on a clock that the test moves. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { type Answer, ask, header, outcomeOf, statusOf } from './client.ts'
import { matrixFor, rangePath } from './matrix.ts'
import { sent } from './scripted-upstream.ts'
import { oldRange, type Stand, startBoth } from './setup.ts'

const range = oldRange()
const path = rangePath(range)

const query = ({ url }: Stand, cacheControl?: string, target = path): Promise<Answer> =>
  ask(url, target, cacheControl === undefined ? {} : { headers: { 'Cache-Control': cacheControl } })

/** The value that every point of an answer has: which generation of the data it is of. */
function generations(answer: Answer): string[] {
  const { data } = JSON.parse(answer.body.toString()) as {
    data: { result: { values: [number, string][] }[] }
  }
  return [...new Set(data.result.flatMap(({ values }) => values.map(([, value]) => value)))].sort()
}

for (const [name, headers] of Object.entries({
  'no-cache': { 'Cache-Control': 'no-cache' },
  'max-age=0': { 'Cache-Control': 'max-age=0' },
  'pragma: no-cache': { Pragma: 'no-cache' },
  'no-cache on a second line': { 'Cache-Control': ['max-age=3600', 'no-cache'] },
  'NO-CACHE among others': { 'Cache-Control': 'foo, NO-CACHE , bar=1' },
  'a max-age that cannot be read': { 'Cache-Control': 'max-age=abc' },
})) {
  test(`${name}: everything is fetched again, and stored for the next`, async (t) => {
    const stand = await startBoth(t)
    await query(stand)
    await stand.clock.advance(1000)
    stand.upstream.generation = 2
    assert.deepEqual(generations(await query(stand)), ['1'])
    const reloaded = await ask(stand.url, path, { headers })
    assert.equal(outcomeOf(reloaded), 'miss/revalidate')
    assert.deepEqual(generations(reloaded), ['2'])
    const next = await query(stand)
    assert.equal(outcomeOf(next), 'hit')
    assert.deepEqual(generations(next), ['2'])
    assert.equal(stand.upstream.seen.length, 2)
  })
}

test('a no-cache that fails keeps the buckets of others', async (t) => {
  const stand = await startBoth(t)
  await query(stand)
  await stand.clock.advance(1000)
  const { script } = stand.upstream
  stand.upstream.script = (_request, response) => void response.writeHead(500).end('broken')
  const failed = await query(stand, 'no-cache')
  assert.equal(failed.status, 500)
  assert.equal(outcomeOf(failed), 'error/database_error')
  stand.upstream.script = script
  assert.equal(outcomeOf(await query(stand)), 'hit')
})

test('no-store is forwarded and nothing is stored', async (t) => {
  const stand = await startBoth(t)
  for (const value of ['no-store', 'no-cache, no-store', 'max-age=100, No-Store']) {
    assert.equal(outcomeOf(await query(stand, value)), 'bypass/no_store')
  }
  assert.equal(outcomeOf(await query(stand)), 'miss/absent')
  stand.upstream.generation = 2
  await stand.clock.advance(1000)
  assert.deepEqual(generations(await query(stand, 'no-store')), ['2'])
  assert.deepEqual(generations(await query(stand)), ['1'])
})

test('max-age takes only buckets that are young enough', async (t) => {
  const stand = await startBoth(t)
  const half = { ...range, end: range.start + 4 * 60_000 }
  await query(stand, undefined, rangePath(half))
  await stand.clock.advance(30_000)
  stand.upstream.generation = 2
  await query(stand)
  await stand.clock.advance(10_000)
  assert.equal(outcomeOf(await query(stand, 'max-age=40')), 'hit')
  const younger = await query(stand, 'max-age=39')
  assert.equal(outcomeOf(younger), 'partial/revalidate')
  assert.equal(statusOf(younger).asked, 5)
  assert.deepEqual(generations(younger), ['2'])
  assert.equal(outcomeOf(await query(stand, 'max-age=10')), 'hit')
})

test('max-age may be quoted, and others are no reason to fetch', async (t) => {
  const stand = await startBoth(t)
  await query(stand)
  await stand.clock.advance(5000)
  for (const value of [
    'max-age="60"',
    'max-stale',
    'min-fresh=5',
    'no-transform',
    'stale-if-error=60',
    '=,=;;"',
    '',
    ',,,',
    'no-cachex',
    'x-no-cache',
    'max-age=99999999999999999999',
  ]) {
    assert.equal(outcomeOf(await query(stand, value)), 'hit', value)
  }
})

test('Pragma means nothing beside Cache-Control', async (t) => {
  const stand = await startBoth(t)
  await query(stand)
  await stand.clock.advance(5000)
  const headers = { Pragma: 'no-cache', 'Cache-Control': 'max-age=60' }
  assert.equal(outcomeOf(await ask(stand.url, path, { headers })), 'hit')
})

test('only-if-cached is answered from stored buckets, or with 504', async (t) => {
  const stand = await startBoth(t)
  const refused = await query(stand, 'only-if-cached')
  assert.equal(refused.status, 504)
  assert.equal(outcomeOf(refused), 'refused/only_if_cached')
  assert.equal(JSON.parse(refused.body.toString()).status, 'error')
  await query(stand)
  assert.equal(outcomeOf(await query(stand, 'only-if-cached')), 'hit')
  const wider = rangePath({ ...range, end: range.end + 60_000 })
  assert.equal((await query(stand, 'only-if-cached', wider)).status, 504)
  await stand.clock.advance(3_600_000)
  assert.equal((await query(stand, 'only-if-cached')).status, 504)
  assert.equal(stand.upstream.seen.length, 1)
})

test('only-if-cached never reaches the database, whatever stands beside it', async (t) => {
  const stand = await startBoth(t)
  await query(stand)
  await stand.clock.advance(1000)
  const undecomposable = rangePath({ ...range, query: 'up @ end()' })
  assert.equal((await query(stand, 'only-if-cached, no-cache')).status, 504)
  assert.equal((await query(stand, 'only-if-cached, no-store', undecomposable)).status, 504)
  assert.equal((await query(stand, 'only-if-cached', undecomposable)).status, 504)
  assert.equal(stand.upstream.seen.length, 1)
})

for (const value of ['no-store', 'private, No-Store, max-age=0']) {
  test(`an answer with ${value} is passed on and not stored: miss`, async (t) => {
    const stand = await startBoth(t)
    stand.upstream.script = (request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': value })
      response.end(matrixFor(new URL(request.url!, 'http://x').searchParams, 1))
    }
    for (let i = 0; i < 2; i++) {
      const answer = await query(stand)
      assert.equal(outcomeOf(answer), 'miss/absent')
      assert.equal(header(answer, 'cache-control'), value)
    }
    assert.equal(stand.budget.used, 0)
  })

  test(`an answer with ${value} is passed on and not stored: partial`, async (t) => {
    const stand = await startBoth(t)
    await query(stand)
    const wider = rangePath({ ...range, end: range.end + 2 * 60_000 })
    stand.upstream.script = (request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': value })
      response.end(matrixFor(new URL(request.url!, 'http://x').searchParams, 1))
    }
    for (let i = 0; i < 2; i++) {
      const answer = await query(stand, undefined, wider)
      assert.equal(outcomeOf(answer), 'partial/absent')
      assert.equal(statusOf(answer).asked, 2)
      assert.equal(statusOf(answer).parameters.has('stored'), false)
      assert.equal(header(answer, 'cache-control'), value)
    }
  })
}

test('conditions on the client’s own copy are not sent to the database for a part', async (t) => {
  const stand = await startBoth(t)
  const headers = {
    'If-None-Match': '"x"',
    'If-Modified-Since': 'Thu, 01 Jan 2026 00:00:00 GMT',
    Range: 'bytes=0-9',
  }
  const answer = await ask(stand.url, path, { headers })
  assert.equal(answer.status, 200)
  const seen = stand.upstream.seen.at(-1)!
  for (const name of Object.keys(headers)) assert.deepEqual(sent(seen, name.toLowerCase()), [], name)
})
