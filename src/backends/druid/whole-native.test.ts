import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readWholeNative } from './whole-native.ts'
import type { WholeReading } from './whole-reading.ts'

type Query = Readonly<Record<string, unknown>>

const day = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2026, 0, 2) }
const total: Query = {
  queryType: 'timeseries',
  dataSource: 'wiki',
  granularity: 'all',
  intervals: ['2026-01-01/2026-01-02'],
  aggregations: [{ type: 'longSum', name: 'n', fieldName: 'cnt' }],
}
const table: Query = { ...total, queryType: 'groupBy', dimensions: ['page'] }
const top: Query = { ...total, queryType: 'topN', dimension: 'page', metric: 'n', threshold: 5 }
const boundary: Query = { queryType: 'timeBoundary', dataSource: 'wiki' }

const read = (query: Query | string) =>
  readWholeNative(typeof query === 'string' ? query : JSON.stringify(query), ['tag'])

function reading(query: Query | string): WholeReading {
  const found = read(query)
  assert.ok(!('bypass' in found), JSON.stringify(found))
  return found
}

const reasonOf = (query: Query | string): string | undefined => {
  const found = read(query)
  return 'bypass' in found ? `${found.bypass}: ${found.detail}` : undefined
}

test('a reading has the query as text, its data sources, and the test of its end', () => {
  const context = { queryId: 'mine', useCache: false, timeout: 100, skipEmptyBuckets: 'true', tag: 'x' }
  const query =
    '{"aggregations":[{"fieldName":"cnt","name":"n","type":"longSum"}],"context":{"skipEmptyBuckets":true},' +
    '"dataSource":"wiki","granularity":"all","intervals":["2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z"],' +
    '"queryType":"timeseries"}'
  assert.deepEqual(reading({ ...total, context }), {
    endpoint: 'totals',
    text: `["/druid/v2",${query},"timeout=100"]`,
    query,
    sources: ['wiki'],
    knowsAllSources: true,
    span: day,
    ending: { container: 'list', row: 'array', end: '' },
    queryId: 'mine',
  })
})

const eligible: readonly (readonly [what: string, query: Query, endpoint: string, span?: typeof day])[] = [
  ['a total', total, 'totals', day],
  ['a table', table, 'totals', day],
  ['a table with a limit', { ...table, limitSpec: { type: 'default', limit: 5 } }, 'totals', day],
  ['subtotals', { ...table, subtotalsSpec: [['page'], []] }, 'totals', day],
  ['a grand total', { ...total, context: { grandTotal: true } }, 'totals', day],
  ['rows by dimensions first', { ...table, context: { sortByDimsFirst: true } }, 'totals', day],
  ['the top of everything', top, 'topN', day],
  [
    'several intervals',
    { ...top, intervals: ['2026-01-01/PT1H', '2026-01-01T23:00/2026-01-02'] },
    'topN',
    day,
  ],
  [
    'a union of tables',
    { ...total, dataSource: { type: 'union', dataSources: ['wiki', 'other'] } },
    'totals',
    day,
  ],
  [
    'time without an end that we read',
    { ...total, intervals: '-146136543-09-08T08:23:32.096Z/2026' },
    'totals',
  ],
  ['the boundary of time', boundary, 'timeBoundary'],
  ['one bound of it', { ...boundary, bound: 'maxTime' }, 'timeBoundary'],
  ['the boundary in an interval', { ...boundary, intervals: ['2026-01-01/2026-01-02'] }, 'timeBoundary'],
  ['the last ingested event', { queryType: 'dataSourceMetadata', dataSource: 'wiki' }, 'segmentMetadata'],
  ['columns', { queryType: 'segmentMetadata', dataSource: 'wiki', merge: true }, 'segmentMetadata'],
  ['columns of a time', { ...total, queryType: 'segmentMetadata' }, 'segmentMetadata'],
  [
    'a lookup among the dimensions',
    {
      ...table,
      dimensions: [{ type: 'extraction', extractionFn: { type: 'registeredLookup', lookup: 'x' } }],
    },
    'totals',
  ],
  [
    'an expression that calls a lookup',
    { ...total, virtualColumns: [{ type: 'expression', name: 'v', expression: "lookup(page, 'x')" }] },
    'totals',
  ],
]

for (const [what, query, endpoint, span] of eligible) {
  test(`${what} is cached whole${span === undefined ? ', and nobody vouches for it' : ''}`, () => {
    const found = reading(query)
    assert.equal(found.endpoint, endpoint)
    assert.deepEqual(found.span, span)
    assert.ok(found.sources.includes('wiki') && found.knowsAllSources)
  })
}

const inner = { type: 'query', query: table }
for (const dataSource of [
  inner,
  { type: 'join', left: 'wiki', right: { type: 'lookup', lookup: 'x' } },
  { type: 'lookup', lookup: 'x' },
  { type: 'inline', columnNames: ['page'], rows: [['A']] },
  { type: 'unnest', base: 'wiki' },
  { type: 'union', dataSources: [inner] },
]) {
  test(`a data source of the type ${dataSource.type} may read anything: ${JSON.stringify(dataSource)}`, () => {
    const { sources, knowsAllSources, span } = reading({ ...total, dataSource })
    assert.deepEqual([sources, knowsAllSources, span], [[], false, undefined])
  })
}

const refused: readonly (readonly [query: Query | string, reason: RegExp])[] = [
  [{ ...total, queryType: 'scan' }, /^other_query_type: a type whose answers are not kept/],
  [{ ...total, queryType: 'search' }, /^other_query_type/],
  [{ ...total, queryType: 'windowOperator' }, /^other_query_type/],
  [{ ...total, queryType: undefined }, /^other_query_type/],
  [{ ...total, dataSource: undefined }, /^missing_parameter: no dataSource/],
  [{ ...total, intervals: undefined }, /^missing_parameter: no intervals/],
  [{ ...total, granularity: undefined }, /^not_decomposable: granularity none/],
  [{ ...total, granularity: 'NONE' }, /^not_decomposable: granularity none/],
  [{ ...total, granularity: { type: 'none' } }, /^not_decomposable: granularity none/],
  [
    { ...total, intervals: { type: 'segments', segments: [] } },
    /^not_decomposable: a query for named segments/,
  ],
  [
    { ...total, dataSource: { type: 'restrict', base: 'wiki' } },
    /^not_decomposable: a data source that is not/,
  ],
  [{ ...total, dataSource: 7 }, /^invalid_parameter: dataSource/],
  [
    { ...total, filter: { type: 'javascript', dimension: 'page', function: 'x' } },
    /^not_decomposable: JavaScript/,
  ],
  [{ ...total, context: { bySegment: true } }, /^not_decomposable: bySegment/],
  [{ ...total, context: { returnPartialResults: 'true' } }, /^partial_results/],
  [{ ...total, context: { uncoveredIntervalsLimit: 10 } }, /^partial_results/],
  [{ ...total, context: { 'If-None-Match': 'x' } }, /^not_decomposable: an entity tag/],
  [{ ...total, context: { timeout: 'soon' } }, /^invalid_parameter/],
  [
    '{"queryType":"timeBoundary","queryType":"scan","dataSource":"wiki"}',
    /^malformed_request: the same member/,
  ],
  ['[]', /^malformed_request: not an object/],
  ['{"queryType":"timeBoundary"', /^malformed_request/],
]

for (const [query, reason] of refused) {
  test(`not cached whole, because ${reason.source.slice(1)}: ${JSON.stringify(query).slice(0, 90)}`, () => {
    assert.match(reasonOf(query) ?? 'it is', reason)
  })
}

test('the same question has the same text, however it is written', () => {
  const { text } = reading(total)
  for (const same of [
    { ...total, intervals: '2026-01-01T00:00Z/P1D' },
    { ...total, intervals: ['2026-01-01T12:00/2026-01-02', '2026-01-01/PT12H'] },
    { ...total, intervals: { type: 'intervals', intervals: ['2026-01-01T01:00+01:00/P1D'] } },
    { ...total, granularity: 'ALL' },
    { ...total, dataSource: { type: 'table', name: 'wiki' } },
    { ...total, context: {} },
    { ...total, context: { queryId: 'a', populateCache: true, tag: 1 } },
    Object.fromEntries(Object.entries(total).reverse()),
  ])
    assert.equal(reading(same).text, text)
})

test('another question has another text', () => {
  const questions: Query[] = [
    total,
    table,
    top,
    { ...total, dataSource: 'other' },
    { ...total, intervals: ['2026-01-01/2026-01-03'] },
    { ...total, intervals: ['2026-01-01/PT12H', '2026-01-01T13:00/2026-01-02'] },
    { ...total, aggregations: [{ type: 'longSum', name: 'm', fieldName: 'cnt' }] },
    { ...total, unknown: 1 },
    { ...total, unknown: 1.5 },
    { ...total, context: { unknown: 1 } },
    { ...total, context: { timeout: 1 } },
    { ...total, context: { timeout: 2 } },
    { ...total, context: { grandTotal: true } },
    { ...total, context: { serializeDateTimeAsLong: true } },
    { ...top, threshold: 6 },
    { ...top, dimension: 'country' },
    boundary,
    { ...boundary, bound: 'maxTime' },
    { ...boundary, intervals: [] },
  ]
  const texts = questions.map((query) => reading(query).text)
  assert.equal(new Set(texts).size, questions.length)
})

const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.string(), { maxLength: 2 }))
const question = fc.record(
  {
    filter: fc.record({ type: fc.constant('selector'), dimension: fc.string(), value }),
    extra: value,
    limitSpec: fc.record({ limit: fc.nat(9), columns: fc.array(fc.string(), { maxLength: 2 }) }),
    unknown: fc.dictionary(fc.string(), value, { maxKeys: 3 }),
  },
  { requiredKeys: [] },
)

/** JSON with the members of every object in another order, and spaces. */
function shuffled(node: unknown): string {
  if (Array.isArray(node)) return `[ ${node.map(shuffled).join(' ,')}]`
  if (typeof node !== 'object' || node === null) return JSON.stringify(node)
  const members = Object.entries(node).map(([name, inner]) => `${JSON.stringify(name)} :${shuffled(inner)}`)
  return `{\n${members.reverse().join(', ')} }`
}

test('texts are equal exactly for equal questions', () => {
  fc.assert(
    fc.property(question, question, (one, other) => {
      const text = reading({ ...table, ...one }).text
      assert.equal(reading(shuffled({ ...table, ...one, context: { queryId: 'x' } })).text, text)
      const isEqual = shuffledAway(one) === shuffledAway(other)
      assert.equal(reading({ ...table, ...other }).text === text, isEqual)
    }),
  )
})

/** A text of its own for each value, without the order of members. */
function shuffledAway(node: unknown): string {
  if (Array.isArray(node)) return `[${node.map(shuffledAway).join()}]`
  if (typeof node !== 'object' || node === null) return JSON.stringify(node)
  return `{${Object.entries(node)
    .map(([name, inner]) => `${JSON.stringify(name)}:${shuffledAway(inner)}`)
    .sort()
    .join()}}`
}
