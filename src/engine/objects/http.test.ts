/** Permissions of responses, conditional requests, and the headers that clients get. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNotModified, notModifiedHeaders } from './http-conditional.ts'
import { ageSeconds, responseTerms, storedHeaders } from './http-freshness.ts'
import { objectResponse, objectStatus, ttlSeconds } from './http-status.ts'
import { clocksOf, positionOf, termsMs } from './object-clocks.ts'
import type { ObjectAnswer, ObjectState } from './objects.ts'

const etag = '"abc"'
const terms = { revalidateSeconds: 60, staleWhileRevalidateSeconds: 30, staleIfErrorSeconds: 300 }
const generatedAt = 1_000_000

const permitted = (...headers: string[]) => responseTerms(headers, { generatedAt, terms })
const named = (...headers: string[]) => {
  const { terms: own, isStorable } = permitted(...headers)
  assert.equal(isStorable, undefined)
  return [own?.revalidateSeconds, own?.staleWhileRevalidateSeconds, own?.staleIfErrorSeconds]
}
const isForbidden = (...headers: string[]) => permitted(...headers).isStorable === false

const conditions: readonly (readonly [given: string, isMet: boolean])[] = [
  ['"abc"', true],
  ['W/"abc"', true],
  ['"x", W/"y" , "abc"', true],
  [',, "abc",', true],
  ['*', true],
  ['"ABC"', false],
  ['"abcd"', false],
  ['abc', false],
  ['"abc', false],
  ['"x" "abc"', false],
  ['w/"abc"', false],
  ['', false],
]
for (const [given, isMet] of conditions)
  test(`If-None-Match: ${given} ${isMet ? 'names' : 'does not name'} "abc"`, () => {
    assert.equal(isNotModified(['if-none-match', given], etag), isMet)
    assert.equal(isNotModified(['If-None-Match', given], `W/${etag}`), isMet)
  })

test('several If-None-Match lines are one list, and without one the body is sent', () => {
  assert.ok(isNotModified(['if-none-match', '"x"', 'if-none-match', '"abc"'], etag))
  assert.ok(!isNotModified(['if-modified-since', 'Thu, 01 Jan 2026 00:00:00 GMT'], etag))
})

test('a 304 has the headers of RFC 9110 §15.4.5 and none about the body', () => {
  const headers = [
    'Content-Type',
    'text/html',
    'ETag',
    etag,
    'Vary',
    'Origin',
    'Cache-Control',
    'max-age=5',
    'X-A',
    'b',
  ]
  assert.deepEqual(notModifiedHeaders(headers), [
    'ETag',
    etag,
    'Vary',
    'Origin',
    'Cache-Control',
    'max-age=5',
  ])
})

test('a response without caching headers keeps the terms of the cache', () => {
  assert.deepEqual(permitted('content-type', 'text/plain'), {})
})

test('a response shortens the terms and never lengthens them', () => {
  assert.deepEqual(named('cache-control', 'max-age=20'), [20, 30, 300])
  assert.deepEqual(named('cache-control', 'max-age=7200'), [60, 30, 300])
  assert.deepEqual(
    named('cache-control', 'max-age=20, stale-while-revalidate=5, stale-if-error=10'),
    [20, 5, 10],
  )
  assert.deepEqual(named('cache-control', 'stale-while-revalidate=500, stale-if-error=500'), [60, 30, 300])
  assert.deepEqual(named('cache-control', 'stale-if-error=soon'), [60, 30, 0])
})

for (const directive of ['must-revalidate', 'proxy-revalidate', 's-maxage=60'])
  test(`trap 1: ${directive} forbids every stale use, so that stale-if-error beside it is inert`, () => {
    assert.deepEqual(named('cache-control', `max-age=60, ${directive}, stale-if-error=300`), [60, 0, 0])
  })

test('a response with an Age is fresh for that much less', () => {
  assert.deepEqual(named('cache-control', 'max-age=50', 'age', '20'), [30, 30, 300])
  assert.ok(isForbidden('cache-control', 'max-age=50', 'age', '50'))
  const dates = ['date', 'Thu, 01 Jan 2026 00:00:00 GMT', 'expires', 'Thu, 01 Jan 2026 00:00:40 GMT']
  assert.deepEqual(named(...dates), [40, 30, 300])
})

test('not storable: no-store, no-cache, private, Vary on headers that are not in the key', () => {
  assert.ok(isForbidden('cache-control', 'no-store'))
  assert.ok(isForbidden('cache-control', 'no-cache'))
  assert.ok(isForbidden('cache-control', 'private'))
  assert.ok(isForbidden('vary', 'User-Agent'))
  assert.ok(isForbidden('vary', '*'))
  assert.ok(!isForbidden('vary', 'Accept-Encoding'))
  assert.ok(isForbidden('cache-control', 'max-age=many'))
})

test('CDN-Cache-Control takes the place of Cache-Control and Expires where it is valid (RFC 9213)', () => {
  assert.deepEqual(named('cache-control', 'no-store', 'cdn-cache-control', 'max-age=10'), [10, 30, 300])
  assert.ok(isForbidden('cache-control', 'max-age=10', 'cdn-cache-control', 'no-store'))
  assert.ok(isForbidden('cdn-cache-control', 'no-cache=?1'))
  assert.ok(isForbidden('cdn-cache-control', 'private;x=1, max-age=5'))
  assert.deepEqual(named('cdn-cache-control', 'max-age=50, must-revalidate'), [50, 0, 0])
  assert.deepEqual(named('expires', '0', 'cdn-cache-control', 'max-age=5, no-store=?0'), [5, 30, 300])
  for (const broken of ['', ' ', 'Max-Age=5', 'max-age=5,', 'max-age=5 no-store', 'max-age="5'])
    assert.ok(isForbidden('cache-control', 'no-store', 'cdn-cache-control', broken), broken)
})

test('Age counts from before the request, and adds the Age of other caches', () => {
  assert.equal(ageSeconds(1000, [], 999), 0)
  assert.equal(ageSeconds(1000, [], 61_999), 60)
  assert.equal(ageSeconds(1000, ['age', '7'], 61_000), 67)
  assert.equal(ageSeconds(1000, ['age', 'old'], 61_000), 60)
})

test('headers of one response are not stored', () => {
  const given =
    'RateLimit;1;RateLimit-Policy;2;X-RateLimit-Remaining;3;Retry-After;4;Set-Cookie;5;Connection;close;X-A;6'
  assert.deepEqual(storedHeaders(given.split(';')), ['X-A', '6'])
})

/** The vectors of two clocks: generated at 1,000,000 ms; 60 s fresh, 30 s and 300 s stale. */
const clockVectors = [
  [1_059_999, 'fresh', 0],
  [1_060_000, 'stale', 0],
  [1_061_000, 'stale', -1],
  [1_089_999, 'stale', -29],
  [1_090_000, 'error', undefined],
  [1_359_999, 'error', undefined],
  [1_360_000, 'unusable', undefined],
] as const
for (const [now, position, ttl] of clockVectors)
  test(`at ${now} it is ${position}${ttl === undefined ? '' : `, ttl=${ttl}`}`, () => {
    const clocks = clocksOf(generatedAt, termsMs(terms))
    assert.equal(positionOf(clocks, now), position)
    if (ttl !== undefined) assert.equal(Object.is(ttlSeconds(clocks.freshUntil, now), ttl), true)
  })

test('bounds count from the moment of staleness, and hold their order whatever the terms', () => {
  const all = {
    revalidateSeconds: 1,
    staleWhileRevalidateSeconds: 9,
    staleIfErrorSeconds: 2,
    retentionSeconds: 3,
  }
  const { freshUntil, staleUntil, errorUntil } = clocksOf(0, termsMs(all))
  assert.deepEqual([freshUntil, staleUntil, errorUntil], [1000, 10_000, 10_000])
  assert.throws(() => termsMs({ revalidateSeconds: -1 }), /no time span/)
  assert.throws(() => termsMs({ revalidateSeconds: Number.NaN }), /no time span/)
})

const answerOf = (state: ObjectState, status = 200): ObjectAnswer => ({
  body: Buffer.from('body'),
  ...{ state, status, etag, generatedAt, freshUntil: 1_060_000 },
  headers: ['Content-Type', 'text/plain', 'ETag', '"theirs"', 'Age', '5'],
})

test('hit and fwd never appear together, and every answer has an Age', () => {
  for (const state of ['hit', 'stale', 'miss', 'wait-hit'] as const)
    for (const now of [1_000_000, 1_075_500]) {
      const status = objectStatus(answerOf(state), now)
      assert.notEqual(/; hit/.test(status), /; fwd=/.test(status), status)
      assert.ok(objectResponse(answerOf(state), [], now).headers.includes('Age'))
    }
  assert.equal(objectStatus(answerOf('hit'), 1_010_000), 'windowpane; hit; ttl=50')
  assert.equal(objectStatus(answerOf('stale'), 1_075_500), 'windowpane; hit; ttl=-15')
  assert.equal(objectStatus(answerOf('miss'), 1_000_000), 'windowpane; fwd=miss; fwd-status=200; stored')
  assert.match(objectStatus(answerOf('wait-hit'), 1_000_000), /; collapsed$/)
})

test('a response has the ETag of the object, and is a 304 for a client with the body', () => {
  const { status, headers, body } = objectResponse(answerOf('hit'), [], 1_010_000)
  assert.deepEqual([status, Buffer.from(body!).toString()], [200, 'body'])
  assert.deepEqual(headers.slice(0, 6), ['Content-Type', 'text/plain', 'ETag', etag, 'Age', '15'])
  const again = objectResponse(answerOf('hit'), ['if-none-match', etag], 1_010_000)
  assert.deepEqual([again.status, again.body], [304, undefined])
  assert.deepEqual(again.headers.slice(0, 4), ['ETag', etag, 'Age', '15'])
  assert.equal(objectResponse(answerOf('miss', 404), ['if-none-match', '*'], 1_010_000).status, 404)
})
