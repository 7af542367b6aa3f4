/** The HTTP around a query: encodings, types, parameters, entity tags. Answers are Druid's own with any of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import type { BypassReason } from '../../src/backends/kinds.ts'
import { requireServer } from '../data/fixture.ts'
import { type Answer, ApiClient, outcomeOf } from '../fidelity/client.ts'
import { startUnderTest } from './differential/under-test.ts'
import { startDruidFixture } from './fixture.ts'

type Headers = Readonly<Record<string, string>>

const json = { 'content-type': 'application/json' }
const native = (intervals: string, context: object = {}) =>
  JSON.stringify({
    ...{
      queryType: 'groupBy',
      dataSource: 'wiki',
      granularity: 'hour',
      dimensions: ['page', 'city'],
      intervals,
      context,
    },
    aggregations: [{ type: 'count', name: 'n' }],
  })
const sql = (intervals: string, context: object = {}) =>
  JSON.stringify({
    query: `SELECT FLOOR(__time TO HOUR) AS t, city, COUNT(*) AS n FROM wiki WHERE TIME_IN_INTERVAL(__time, '${intervals}') GROUP BY 1, 2 ORDER BY 1, 2`,
    ...{ resultFormat: 'csv', context },
  })
const dialects = { '/druid/v2': native, '/druid/v2/sql': sql } as const

const encodings = [
  undefined,
  'identity',
  'gzip',
  'deflate',
  'gzip, deflate, br, zstd',
  '*',
  'br',
  'gzip;q=0, identity',
]

function decoded({ headers, body }: Answer): string {
  switch (headers['content-encoding'] ?? 'identity') {
    case 'gzip':
      return gunzipSync(body).toString()
    case 'deflate':
      return inflateSync(body).toString()
    case 'zstd':
      return zstdDecompressSync(body).toString()
    default:
      return body.toString()
  }
}

/** The HTTP around a query, and the reason of its bypass, if any. */
type Around = readonly [headers: Headers, search: string, bypass: BypassReason | undefined]

const around: readonly Around[] = [
  [{ 'content-type': 'application/json; charset=utf-8' }, '', undefined],
  [{ ...json, accept: '*/*' }, '', undefined],
  [{ ...json, accept: 'text/html, application/json;q=0.9' }, '', undefined],
  [{ ...json, accept: 'application/x-jackson-smile' }, '', 'other_encoding'],
  [{ ...json, accept: 'text/html' }, '', 'other_encoding'],
  [json, '?pretty', 'other_encoding'],
  [json, '?pretty=1', 'other_encoding'],
  [json, '?unknown=1', undefined],
  [{ ...json, 'if-none-match': '"x"' }, '', 'not_decomposable'],
]

const text = { 'content-type': 'text/plain' }

/** Druid 33 takes neither for SQL; later versions take the text for the query itself. */
const withoutJson: Readonly<Record<string, readonly Around[]>> = {
  '/druid/v2': [
    [{}, '', undefined],
    [text, '', 'malformed_request'],
  ],
  '/druid/v2/sql': [
    [{}, '', 'malformed_request'],
    [text, '', 'unparseable_query'],
  ],
}

test('the HTTP around a query', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  const proxy = await startUnderTest(druid.brokerUrl)
  const [direct, proxied] = [new ApiClient(druid.brokerUrl, 1), new ApiClient(proxy.url, 1)]
  t.after(() => Promise.all([direct.close(), proxied.close(), proxy.close()]))

  for (const [path, write] of Object.entries(dialects)) {
    await t.test(`${path}: encodings of the answer`, async () => {
      for (const [index, encoding] of encodings.entries()) {
        const headers = encoding === undefined ? json : { ...json, 'accept-encoding': encoding }
        for (const [intervals, outcome] of [
          ['2026-03-06T02:00/2026-03-06T08:00', 'miss'],
          ['2026-03-06T02:00/2026-03-06T10:00', 'partial'],
          ['2026-03-06T02:30/2026-03-06T10:00', 'partial'],
          ['2026-03-06T02:00/2026-03-06T10:00', 'hit'],
        ] as const) {
          const body = write(intervals, { own: index })
          const [expected, got] = [
            await direct.post(path, body, headers),
            await proxied.post(path, body, headers),
          ]
          const where = `Accept-Encoding ${encoding}, ${got.headers['cache-status']}`
          assert.equal(outcomeOf(got).outcome, outcome, where)
          assert.equal(decoded(got), decoded(expected), where)
        }
      }
    })

    await t.test(`${path}: types, parameters, entity tags`, async () => {
      for (const [headers, search, bypass] of [...around, ...withoutJson[path]!]) {
        for (let time = 0; time < 2; time++) {
          const body = write('2026-03-07T02:00/2026-03-07T08:00')
          const [expected, got] = [
            await direct.post(`${path}${search}`, body, headers),
            await proxied.post(`${path}${search}`, body, headers),
          ]
          const where = `${JSON.stringify(headers)} ${search}, ${got.headers['cache-status']}`
          assert.equal(got.status, expected.status, where)
          assert.equal(got.headers['content-type'], expected.headers['content-type'], where)
          assert.equal(got.headers['etag'], expected.headers['etag'], where)
          if (expected.status === 200)
            assert.equal(got.body.toString('latin1'), expected.body.toString('latin1'), where)
          const { outcome, reason } = outcomeOf(got)
          if (bypass !== undefined) assert.deepEqual([outcome, reason], ['bypass', bypass], where)
          else assert.match(outcome, /^(?:hit|miss)$/, where)
        }
      }
    })
  }

  await t.test('other endpoints are passed on untouched', async () => {
    for (const path of [
      '/status/health',
      '/druid/v2/datasources',
      '/druid/v2/datasources/wiki',
      '/nosuchpage',
    ]) {
      const [expected, got] = [await direct.get(path), await proxied.get(path)]
      assert.deepEqual([got.status, got.body.toString()], [expected.status, expected.body.toString()], path)
      assert.equal(outcomeOf(got).reason, 'not_a_range_query')
    }
    const body = native('2026-03-07T02:00/2026-03-07T08:00')
    const [expected, got] = [
      await direct.post('/druid/v2/candidates', body, json),
      await proxied.post('/druid/v2/candidates', body, json),
    ]
    assert.equal(got.body.toString(), expected.body.toString())
  })
})
