import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { requestText, shapeText } from './shape-text.ts'

const request = (body: unknown, path = '/druid/v2') => ({
  path,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
})

const groupBy = {
  aggregations: [
    { type: 'longSum', name: 'added', fieldName: 'added' },
    { type: 'filtered', filter: { type: 'true' }, aggregator: { type: 'count', name: 'edits' } },
  ],
  context: { skipEmptyBuckets: true },
  dataSource: { type: 'union', dataSources: ['wiki', 'archive'] },
  dimensions: ['page', { type: 'default', dimension: 'country', outputName: 'land' }],
  filter: {
    type: 'and',
    fields: [
      { type: 'selector', dimension: 'channel', value: '#en' },
      { type: 'not', field: { type: 'in', dimension: 'page', values: ['A', 'B'] } },
      { type: 'bound', dimension: 'added', lower: '1', upper: '5', upperStrict: true },
    ],
  },
  granularity: 'hour',
  queryType: 'groupBy',
}

const readable =
  'groupBy wiki + archive [page, land]: added, edits where channel = #en and not page in (A, B) and ' +
  '1 <= added < 5 context {"skipEmptyBuckets":true}'

test('a native query is described by its subject', () => {
  assert.equal(shapeText(JSON.stringify(['/druid/v2', groupBy])), readable)
  const topN = { queryType: 'topN', dataSource: 'wiki', dimension: 'page', metric: 'added', threshold: 5 }
  assert.equal(shapeText(JSON.stringify(['/druid/v2', topN])), 'topN wiki [page] metric added threshold 5')
})

test('a question with parameters in its URL shows them', () => {
  const shape = JSON.stringify([JSON.stringify(['/druid/v2', groupBy]), 'tag=a'])
  assert.equal(shapeText(shape), `${readable} ?tag=a`)
})

test('SQL is its text, whole or cut', () => {
  const sql = 'SELECT "page" FROM wiki WHERE :time GROUP BY 1'
  const shape = JSON.stringify(['/druid/v2/sql', sql, [], [], [], 'UTC'])
  assert.equal(shapeText(shape), sql)
  assert.equal(shapeText(`${shape.slice(0, 43)}…`), 'SELECT "page" FROM wiki …')
})

test('of a shape that was cut, the remaining part is described', () => {
  const shape = JSON.stringify(['/druid/v2', groupBy])
  assert.match(shapeText(`${shape.slice(0, 305)}…`)!, /^query wiki \+ archive \[page\]: added, edits .*…$/)
  for (let length = 1; length < shape.length; length++) shapeText(`${shape.slice(0, length)}…`)
})

test('shapes of others are not touched', () => {
  for (const shape of ['["/api/v1/query_range","up",15000]', '/druid/v2', '', '[', '[[]]', 'null', '{}']) {
    assert.equal(shapeText(shape), undefined, shape)
  }
})

test('an unplanned request is described without its times', () => {
  const at = (from: string) => request({ ...groupBy, intervals: [`${from}/P1D`] })
  assert.equal(requestText(at('2026-01-01')), `/druid/v2 ${readable}`)
  assert.equal(requestText(at('2026-01-01')), requestText(at('2026-01-02')))
  const sql = (from: string, ms: number) =>
    request(
      {
        query: `SELECT 1 FROM t WHERE __time >= TIMESTAMP '${from}' AND __time < MILLIS_TO_TIMESTAMP(${ms})`,
      },
      '/druid/v2/sql',
    )
  const text = requestText(sql('2026-01-01 00:00:00', 1_767_225_600_000))
  assert.equal(text, requestText(sql('2026-01-02 10:00:00.5', 1_767_225_700_000)))
  assert.match(text, /^\/druid\/v2\/sql SELECT 1 FROM t WHERE __time >= TIMESTAMP ':time'/)
})

test('unreadable bodies are described by their path, and long ones are not read to the end', () => {
  for (const body of ['', '{', '[]', 'SELECT 1', '{"queryType":5}', '"queryType"']) {
    assert.equal(requestText(request(body)), '/druid/v2', body)
  }
  const long = { query: `SELECT 1 -- ${'x'.repeat(100_000)}` }
  assert.equal(requestText(request(long, '/druid/v2/sql')), '/druid/v2/sql')
  const { queryType, ...others } = groupBy
  const late = {
    queryType,
    ...others,
    filter: { type: 'in', dimension: 'page', values: Array(10_000).fill('A') },
  }
  assert.match(requestText(request(late)), /^\/druid\/v2 groupBy wiki \+ archive/)
})

test('nothing that JSON can hold is a fault', () => {
  const odd = fc.constantFrom('type', 'name', 'toString', 'valueOf', 'toJSON', '__proto__', 'filter', 'base')
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, 1, 'a', true),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(odd, tie('any'), { maxKeys: 4 }),
    ),
  })).any
  const names = [
    'queryType',
    'dataSource',
    'filter',
    'dimensions',
    'aggregations',
    'context',
    'query',
  ] as const
  const question = fc.dictionary(fc.constantFrom(...names), value)
  fc.assert(
    fc.property(question, fc.nat(400), (given, cut) => {
      const text = JSON.stringify(given)
      for (const body of [text, text.slice(0, cut)]) {
        assert.equal(typeof requestText(request(body)), 'string')
        shapeText(`["/druid/v2",${body}]`)
        shapeText(`["/druid/v2",${body}…`)
      }
    }),
  )
})
