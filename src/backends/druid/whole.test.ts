import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HeaderList, WireRequest } from '../backend.ts'
import { druid } from './index.ts'

const { whole, claims } = druid({ maxBuckets: 1000, ignoredContext: ['tag'] })
const now = Date.UTC(2026, 5, 1)
const json: HeaderList = ['content-type', 'application/json']

const post = (body: object, { path = '/druid/v2', headers = json, search = '' } = {}): WireRequest => ({
  ...{ method: 'POST', path, search, headers, body: Buffer.from(JSON.stringify(body)) },
})
const sql = (query: string, more: object = {}) => post({ query, ...more }, { path: '/druid/v2/sql' })
const plan = (request: WireRequest) => whole!.plan(request, now)

const intervals = '2026-01-01/2026-01-03'
const hourly = { queryType: 'timeseries', dataSource: 'wiki', granularity: 'hour', intervals }
const total = { ...hourly, granularity: 'all' }
const groups = { ...hourly, queryType: 'groupBy', dimensions: ['page'] }

test('queries that the range planner cuts into buckets are never cached whole', () => {
  assert.equal(plan(post(hourly)), undefined)
  assert.equal(plan(post(groups)), undefined)
  const bounds = "__time >= '2026-01-01' AND __time < '2026-01-02'"
  assert.equal(
    plan(sql(`SELECT FLOOR(__time TO HOUR), COUNT(*) FROM wiki WHERE ${bounds} GROUP BY 1`)),
    undefined,
  )
})

test('queries that it cannot cut are', () => {
  assert.equal(plan(post(total))?.endpoint, 'totals')
  assert.equal(plan(post(total, { path: '/druid/v2/' }))?.endpoint, 'totals')
  assert.equal(plan(post({ ...groups, limitSpec: { type: 'default', offset: 9 } }))?.endpoint, 'totals')
  assert.equal(plan(post({ queryType: 'timeBoundary', dataSource: 'wiki' }))?.endpoint, 'timeBoundary')
  assert.equal(plan(sql('SELECT DISTINCT page FROM wiki'))?.endpoint, 'distinct')
  assert.equal(plan(sql('SELECT FLOOR(__time TO MONTH), COUNT(*) FROM wiki GROUP BY 1'))?.endpoint, 'totals')
})

test('queries with too many buckets are not', () => {
  assert.equal(plan(post({ ...hourly, granularity: 'second' })), undefined)
})

test('a plan has the request as it was sent, its id, and all sources', () => {
  const request = post({ ...total, context: { queryId: 'mine' } })
  const found = plan(request)!
  assert.equal(found.request, request)
  assert.equal(found.queryId, 'mine')
  assert.deepEqual(found.sources, ['wiki'])
  assert.deepEqual(found.span, { from: Date.UTC(2026, 0, 1), to: Date.UTC(2026, 0, 3) })
})

test('requests that differ in the query string do not share, and access tokens are not shown', () => {
  const { text } = plan(post(total))!
  const tagged = plan(post(total, { search: 'access_token=secret' }))!.text
  assert.notEqual(tagged, text)
  assert.ok(!tagged.includes('secret'))
})

for (const [what, request] of [
  ['Smile', post(total, { headers: ['content-type', 'application/x-jackson-smile'] })],
  ['an answer in Smile', post(total, { headers: [...json, 'accept', 'application/x-jackson-smile'] })],
  ['indented JSON', post(total, { search: 'pretty' })],
  ['a conditional request', post(total, { headers: [...json, 'if-none-match', 'x'] })],
  [
    'SQL without a content type',
    post({ query: 'SELECT COUNT(*) FROM wiki' }, { path: '/druid/v2/sql', headers: [] }),
  ],
  ['another path', post(total, { path: '/druid/v2/candidates' })],
  ['another method', { ...post(total), method: 'PUT' }],
] as const) {
  test(`not cached whole: ${what}`, () => assert.equal(plan(request), undefined))
}

test('it claims the requests that the range planner claims', () => {
  for (const path of ['/druid/v2', '/druid/v2/', '/druid/v2/sql', '/druid/v2/sql/task', '/status'])
    assert.equal(whole!.claims('POST', path), claims('POST', path))
  assert.equal(whole!.claims('DELETE', '/druid/v2/x'), false)
})

const ends = { headers: ['X-Druid-Response-Context', '{}'], trailers: ['X-Druid-Response-Complete', 'true'] }
const native = plan(post(total))!
const row = '[{"timestamp":"2026-01-01T00:00:00.000Z","result":{"n":[1,"]}"]}}]'
const isComplete = (body: string, found = native, response = ends): boolean =>
  whole!.isComplete!(Buffer.from(body), found, response)

test('an answer is kept only if its end is there', () => {
  assert.equal(isComplete(row), true)
  assert.equal(isComplete('[]'), true)
  for (let length = 0; length < row.length; length++) assert.equal(isComplete(row.slice(0, length)), false)
  assert.equal(isComplete(`${row}\n`), false)
  assert.equal(isComplete(`${row}]`), false)
  assert.equal(isComplete('{"error":"x"}'), false)
})

const formats: readonly (readonly [resultFormat: string, bodies: readonly string[]])[] = [
  ['object', ['[{"n":1}]\n', '[]\n']],
  ['array', ['[[1],["a]"]]\n', '[]\n']],
  ['objectLines', ['{"n":1}\n{"n":2}\n\n', '\n\n']],
  ['arrayLines', ['[1]\n\n', '\n\n']],
  ['csv', ['1,a\n2,"b\n\nc"\n\n', '\n']],
]

for (const [resultFormat, bodies] of formats) {
  test(`SQL as ${resultFormat} is kept only if its last newline is there`, () => {
    const found = plan(sql('SELECT COUNT(*) FROM wiki', { resultFormat }))!
    for (const body of bodies) {
      assert.equal(isComplete(body, found), true, body)
      for (let length = 0; length < body.length; length++)
        if (body.slice(0, length) !== '\n') assert.equal(isComplete(body.slice(0, length), found), false)
    }
  })
}

test('lines of JSON are kept only if each is a whole row', () => {
  const kept = (resultFormat: string, body: string) =>
    isComplete(body, plan(sql('SELECT COUNT(*) FROM wiki', { resultFormat }))!)
  for (const row of ['{"n":1', '{"n":"\u0001"}', '[1]', '{"n":1}]', '{"n":1} ', ''])
    assert.equal(kept('objectLines', `{"n":1}\n${row}\n\n`), false, row)
  assert.equal(kept('arrayLines', '["a\u0001"]\n\n'), false)
  assert.equal(kept('csv', 'a\n\nb\n\n'), true)
})

test('an answer that Druid marks as incomplete is not stored', () => {
  assert.equal(isComplete(row, native, { ...ends, trailers: ['x-druid-response-complete', 'false'] }), false)
  assert.equal(isComplete(row, native, { ...ends, trailers: [] }), true)
  const missing = ['x-druid-response-context', '{"missingSegments":[{}]}']
  assert.equal(isComplete(row, native, { ...ends, headers: missing }), false)
  assert.equal(isComplete(row, native, { headers: [], trailers: [] }), true)
})
