/**
 * Responses that the database forbids to store or share (RFC 9111) are not, on the running program: in misses and
 * partial hits (flights: test/coalescing/freshness.test.ts). Every answer of the database has values of its own.
 */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { Identity } from '../../src/engine/http/identity.ts'
import { type Answer, ask, header, outcomeOf, statusOf } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { oldRange, startStand } from '../proxy/setup.ts'
import { type RawQuery, startRawUpstream } from './raw-upstream.ts'

const minute = 60_000
const range = oldRange()
const path = rangePath(range)
const wider = rangePath({ ...range, end: range.end + 2 * minute })

async function start(t: TestContext, identity: Identity = 'separate') {
  const upstream = await startRawUpstream(t)
  return { ...(await startStand(t, { upstream: upstream.url, identity })), upstream }
}

/** The numbers of the queries that an answer is made of. */
const numbersIn = (answer: Answer): number[] => [
  ...new Set([...answer.body.toString().matchAll(/,"(\d+)"\]/g)].map(([, number]) => Number(number))),
]

const unstored = (answer: Answer): string | undefined =>
  / unstored=(\w+)/.exec(String(statusOf(answer).parameters.get('detail')))?.[1]

const saying =
  (...lines: string[]) =>
  (query: RawQuery): void =>
    query.answer(...lines)

/** Header lines, and the reason that they give a client without credentials. */
const forbidding: readonly (readonly [string, ...string[]])[] = [
  ['no_store', 'Cache-Control: no-store'],
  ['no_store', 'CACHE-CONTROL:\tpublic , NO-STORE'],
  ['no_store', 'Cache-Control: max-age=60', 'Vary: Origin', 'cache-control: No-Store="really"'],
  ['no_store', 'Cache-Control: no-transform'],
  ['no_cache', 'Cache-Control: no-cache'],
  ['no_cache', 'Cache-Control: no-cache="Set-Cookie"'],
  ['no_cache', 'Cache-Control: max-age=0'],
  ['no_cache', 'Cache-Control: max-age=60, s-maxage="0"'],
  ['no_cache', 'Cache-Control: max-age=60', 'Age: 60'],
  ['no_cache', 'Expires: 0'],
  ['no_cache', 'Expires: Thu, 01 Jan 1970 00:00:00 GMT', 'Cache-Control: public'],
  ['no_cache', 'Pragma: no-cache'],
  ['private', 'Cache-Control: private, max-age=60'],
  ['private', 'Cache-Control: Private="X-User"'],
  ['vary', 'Vary: *'],
  ['vary', 'Vary: X-Team'],
  ['vary', 'Vary: Accept-Encoding, Origin', 'VARY: x-team'],
  ['vary', 'Vary: Origin,*'],
  ['malformed_cache_headers', 'Cache-Control: max-age=soon'],
  ['malformed_cache_headers', 'Cache-Control: max-age=60, max-age=61'],
  ['malformed_cache_headers', 'Cache-Control: public, x="no-store'],
  ['malformed_cache_headers', 'Cache-Control: max-age=60;'],
  ['malformed_cache_headers', 'Vary: Origin; Accept'],
]

for (const [reason, ...lines] of forbidding) {
  const name = lines.join(' + ')
  test(`${name}: the answer to one request is not stored for others (${reason})`, async (t) => {
    const { url, upstream, budget } = await start(t)
    upstream.script = saying(...lines)
    for (const number of [1, 2]) {
      const answer = await ask(url, path, { headers: { 'X-Team': String(number) } })
      assert.deepEqual(
        [outcomeOf(answer), numbersIn(answer), unstored(answer)],
        ['miss/absent', [number], reason],
      )
      assert.equal(statusOf(answer).parameters.has('stored'), false)
    }
    assert.equal(budget.used, 0)
  })

  test(`${name}: stored buckets stay, and the rest is not added to them (${reason})`, async (t) => {
    const { url, upstream } = await start(t)
    await ask(url, path)
    upstream.script = saying(...lines)
    for (const number of [2, 3]) {
      const answer = await ask(url, wider)
      assert.deepEqual([outcomeOf(answer), numbersIn(answer)], ['partial/absent', [1, number]])
      assert.deepEqual([statusOf(answer).asked, unstored(answer)], [2, reason])
      assert.equal(statusOf(answer).parameters.has('stored'), false)
    }
    assert.equal(outcomeOf(await ask(url, path)), 'hit')
  })
}

test('a private answer is stored for requests with its credentials, and for no other', async (t) => {
  const { url, upstream } = await start(t)
  upstream.script = saying('Cache-Control: private')
  const as = (name: string) => ask(url, path, { headers: { Authorization: `Bearer ${name}` } })
  assert.deepEqual([outcomeOf(await as('anna')), outcomeOf(await as('anna'))], ['miss/absent', 'hit'])
  const bert = await as('bert')
  assert.deepEqual([outcomeOf(bert), numbersIn(bert)], ['miss/absent', [2]])
  const anybody = await ask(url, path)
  assert.deepEqual(
    [outcomeOf(anybody), numbersIn(anybody), unstored(anybody)],
    ['miss/absent', [3], 'private'],
  )
})

test('where all clients share, private answers and answers that depend on the client are not stored', async (t) => {
  const { url, upstream } = await start(t, 'shared')
  const as = (name: string) => ask(url, path, { headers: { Authorization: `Bearer ${name}` } })
  for (const [line, reason] of [
    ['Cache-Control: private', 'private'],
    ['Vary: Authorization', 'vary'],
    ['Vary: Cookie', 'vary'],
  ] as const) {
    upstream.script = saying(line)
    for (const name of ['anna', 'bert']) {
      const answer = await as(name)
      assert.deepEqual([numbersIn(answer), unstored(answer)], [[upstream.queries.length], reason])
    }
  }
  upstream.script = saying('Vary: Accept-Encoding, Origin')
  assert.deepEqual([outcomeOf(await as('anna')), outcomeOf(await as('bert'))], ['miss/absent', 'hit'])
})

test('Vary is met by headers that keep answers apart', async (t) => {
  const { url, upstream } = await start(t, { headers: ['x-team'] })
  upstream.script = saying('Vary: X-Team, Origin')
  const as = (team: string, origin = 'http://a') =>
    ask(url, path, { headers: { 'X-Team': team, Origin: origin } })
  assert.deepEqual([outcomeOf(await as('1')), outcomeOf(await as('1'))], ['miss/absent', 'hit'])
  assert.deepEqual(numbersIn(await as('2')), [2])
  assert.deepEqual(numbersIn(await as('1', 'http://b')), [3])
  assert.deepEqual(numbersIn(await ask(url, path)), [4])
  assert.deepEqual([numbersIn(await as('1')), numbersIn(await as('2'))], [[1], [2]])
})

test('Vary: Accept-Encoding is met: each client gets the encoding that it accepts', async (t) => {
  const { url, upstream } = await start(t)
  upstream.script = saying('Vary: Accept-Encoding')
  await ask(url, path, { headers: { 'Accept-Encoding': 'gzip' } })
  const [plain, packed] = [
    await ask(url, path),
    await ask(url, path, { headers: { 'Accept-Encoding': 'gzip' } }),
  ]
  assert.deepEqual([outcomeOf(plain), outcomeOf(packed)], ['hit', 'hit'])
  assert.deepEqual(
    [header(plain, 'content-encoding'), header(packed, 'content-encoding')],
    [undefined, 'gzip'],
  )
  assert.equal(plain.body.toString(), upstream.queries[0]!.body)
})

test('max-age and s-maxage shorten a life, and lengthen none', async (t) => {
  const { url, upstream, clock } = await start(t)
  const lives: readonly (readonly [string, number])[] = [
    ['Cache-Control: max-age=60', 60_000],
    ['Cache-Control: max-age=60, s-maxage=10', 10_000],
    ['Cache-Control: max-age=60\r\nAge: 20', 40_000],
    ['Cache-Control: max-age=86400', 3_600_000],
    ['Expires: Sun, 01 Feb 2026 00:01:40 GMT\r\nDate: Sun, 01 Feb 2026 00:00:00 GMT', 100_000],
  ]
  for (const [index, [lines, life]] of lives.entries()) {
    // Two questions, because a request shortly before the end of a long life has the buckets refreshed.
    const target = rangePath({ ...range, query: `q${index}` })
    const other = rangePath({ ...range, query: `other${index}` })
    upstream.script = saying(lines)
    assert.equal(outcomeOf(await ask(url, target)), 'miss/absent')
    assert.equal(outcomeOf(await ask(url, other)), 'miss/absent')
    await clock.advance(life - 1)
    const last = await ask(url, target)
    assert.deepEqual([outcomeOf(last), statusOf(last).parameters.get('ttl')], ['hit', 1], lines)
    await clock.advance(1)
    assert.equal(outcomeOf(await ask(url, other)), 'miss/expired', lines)
  }
})

test('each bucket lives as long as the answer that it came with', async (t) => {
  const { url, upstream, clock } = await start(t)
  upstream.script = saying('Cache-Control: max-age=30')
  await ask(url, path)
  upstream.script = saying()
  await ask(url, wider)
  await clock.advance(29_999)
  assert.equal(outcomeOf(await ask(url, wider)), 'hit')
  await clock.advance(1)
  const answer = await ask(url, wider)
  assert.deepEqual(
    [outcomeOf(answer), statusOf(answer).asked, numbersIn(answer)],
    ['partial/expired', 10, [3, 2]],
  )
})

const outage = (query: RawQuery): void =>
  query.write('HTTP/1.1 503 Unavailable\r\nContent-Length: 4\r\n\r\ndown')

for (const [directives, isServed] of [
  ['max-age=60', true],
  ['max-age=60, must-revalidate', false],
  ['max-age=60, proxy-revalidate', false],
  ['s-maxage=60', false],
] as const) {
  test(`in an outage ${directives} is ${isServed ? '' : 'not '}served stale`, async (t) => {
    const { url, upstream, clock } = await start(t)
    upstream.script = saying(`Cache-Control: ${directives}`)
    await ask(url, path)
    upstream.script = outage
    await clock.advance(59_999)
    assert.equal(outcomeOf(await ask(url, path)), 'hit')
    await clock.advance(1)
    const answer = await ask(url, path)
    assert.equal(outcomeOf(answer), isServed ? 'stale/database_error' : 'error/database_error')
    assert.deepEqual(numbersIn(answer), isServed ? [1] : [])
  })
}

test('must-revalidate alone changes no TTL, and forbids stale answers', async (t) => {
  const { url, upstream, clock } = await start(t)
  upstream.script = saying('Cache-Control: must-revalidate')
  await ask(url, path)
  upstream.script = outage
  await clock.advance(3_599_999)
  assert.equal(outcomeOf(await ask(url, path)), 'hit')
  await clock.advance(1)
  assert.equal(outcomeOf(await ask(url, path)), 'error/database_error')
})
