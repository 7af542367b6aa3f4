import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createNativePlanner, type Layout } from './native.ts'
import type { Bypass } from './reasons.ts'

type Query = Readonly<Record<string, unknown>>

const planner = createNativePlanner({ maxBuckets: 1000, ignoredContext: ['tag'] })
const plan = (text: string) => planner(Buffer.from(text))
const hourMs = 3_600_000
const noon = Date.UTC(2026, 0, 1, 12)

const series: Query = {
  queryType: 'timeseries',
  dataSource: 'wiki',
  granularity: 'hour',
  intervals: ['2026-01-01T12:00/2026-01-01T15:00'],
  aggregations: [{ type: 'longSum', name: 'n', fieldName: 'cnt' }],
}
const groups: Query = { ...series, queryType: 'groupBy', dimensions: ['page'] }
const top: Query = { ...series, queryType: 'topN', dimension: 'page', metric: 'n', threshold: 5 }

function planned(query: Query | string): Layout {
  const layout = plan(typeof query === 'string' ? query : JSON.stringify(query))
  assert.ok(!('bypass' in layout), JSON.stringify(layout))
  return layout
}

function bypassOf(query: Query | string): Bypass | undefined {
  const layout = plan(typeof query === 'string' ? query : JSON.stringify(query))
  return 'bypass' in layout ? layout : undefined
}

const reasonOf = (query: Query | string): string | undefined => bypassOf(query)?.bypass
const shapeOf = (query: Query | string): string => planned(query).shape
const rewritten = ({ rewrite }: Layout, from = 0, to = hourMs): string =>
  Buffer.from(rewrite([{ from, to }])).toString()

test('a plan has a readable shape, the grid, the window, the sources and how rows are written', () => {
  const {
    rewrite: _,
    layoutOver: __,
    ...layout
  } = planned({
    ...series,
    intervals: '2026-01-01T12:30/2026-01-01T15:00',
    context: { queryId: 'mine', timeout: 100, skipEmptyBuckets: true, tag: 'x' },
  })
  const text =
    '{"aggregations":[{"fieldName":"cnt","name":"n","type":"longSum"}],"context":{"skipEmptyBuckets":true},' +
    '"dataSource":"wiki","granularity":"hour","queryType":"timeseries"}'
  const first = noon / hourMs
  assert.deepEqual(layout, {
    text,
    shape: `["/druid/v2",${text}]`,
    grid: { kind: 'cell', step: hourMs, origin: 0 },
    window: { from: first, to: first + 3 },
    whole: [{ from: first + 1, to: first + 3 }],
    edges: {
      buckets: [{ from: first, to: first + 1 }],
      parts: `${noon + hourMs / 2}/${noon + hourMs}`,
      isStorable: true,
    },
    asked: [{ from: noon + hourMs / 2, to: noon + 3 * hourMs }],
    sources: ['wiki'],
    knowsAllSources: true,
    lookbackMs: 0,
    terms: 'timeout=100',
    isVerbatim: true,
    isAsSent: true,
    isUnlimited: false,
    spans: [{ from: noon + hourMs / 2, to: noon + 3 * hourMs }],
    format: { container: 'list', row: 'object', time: 'timestamp', headerRows: 0, end: '' },
    isDescending: false,
    limit: Number.POSITIVE_INFINITY,
    queryId: 'mine',
  })
})

test('eligible: the three types, with features that hold for each bucket', () => {
  for (const query of [
    series,
    groups,
    top,
    { ...series, descending: true, context: { skipEmptyBuckets: 'true' } },
    { ...groups, having: { type: 'greaterThan', aggregation: 'n', value: 5 } },
    { ...groups, limitSpec: { type: 'default', columns: ['page', { dimension: 'n', direction: 'desc' }] } },
    { ...groups, limitSpec: { type: 'default', limit: null, offset: 0 } },
    { ...groups, limitSpec: { type: 'default', limit: null, columns: null } },
    { ...groups, limitSpec: { type: 'NoopLimitSpec' }, subtotalsSpec: null },
    { ...groups, context: { groupByStrategy: 'v2' } },
    { ...series, context: { timestampResultField: 't' } },
    { ...series, filter: { type: 'interval', dimension: '__time', intervals: ['2026/2027'] } },
  ]) {
    assert.equal(bypassOf(query), undefined, JSON.stringify(query))
  }
})

test('rows of a groupBy may be arrays, with the time in front', () => {
  const arrays = planned({ ...groups, context: { resultAsArray: 'true' } }).format
  assert.deepEqual([arrays.row, arrays.time], ['array', 0])
  assert.equal(planned({ ...groups, context: { resultAsArray: false } }).format.row, 'object')
  assert.equal(planned({ ...series, context: { resultAsArray: true } }).format.row, 'object')
})

test('only a timeseries can be descending', () => {
  assert.equal(planned({ ...series, descending: 'true' }).isDescending, true)
  assert.equal(planned({ ...series, descending: false }).isDescending, false)
  assert.equal(planned({ ...top, descending: true }).isDescending, false)
  assert.equal(planned({ ...groups, descending: true }).isDescending, false)
})

test('sources are the tables that are read', () => {
  const sourcesOf = (dataSource: unknown) => planned({ ...series, dataSource }).sources
  assert.deepEqual(sourcesOf({ type: 'table', name: 'a' }), ['a'])
  assert.deepEqual(sourcesOf({ name: 'a' }), ['a'])
  assert.deepEqual(sourcesOf({ type: 'union', dataSources: ['a', { type: 'table', name: 'b' }, 'a'] }), [
    'a',
    'b',
  ])
  assert.deepEqual(sourcesOf({ type: 'filter', base: 'a', filter: { type: 'true' } }), ['a'])
})

const lookup = {
  type: 'extraction',
  dimension: 'page',
  extractionFn: { type: 'registeredLookup', lookup: 'x' },
}
const expression = (text: string) => [{ type: 'expression', name: 'v', expression: text }]

const passedOn: readonly (readonly [reason: string, query: Query])[] = [
  ['other_query_type', { queryType: 'timeBoundary', dataSource: 'wiki' }],
  ['other_query_type', { ...series, queryType: 'scan' }],
  ['other_query_type', { ...series, queryType: 'Timeseries' }],
  ['other_query_type', { ...series, queryType: 5 }],
  ['other_query_type', { ...series, queryType: 'constructor' }],
  ['missing_parameter', { ...series, queryType: null }],
  ['missing_parameter', { ...series, dataSource: undefined }],
  ['missing_parameter', { ...series, granularity: null }],
  ['missing_parameter', { ...series, intervals: undefined }],
  ['invalid_parameter', { ...series, intervals: null }],
  ['invalid_parameter', { ...series, dataSource: ['a'] }],
  ['invalid_parameter', { ...series, dataSource: { type: 'table' } }],
  ['invalid_parameter', { ...series, descending: 1 }],
  ['invalid_parameter', { ...series, descending: 'yes' }],
  ['invalid_parameter', { ...series, limit: -1 }],
  ['invalid_parameter', { ...series, limit: 1.5 }],
  ['invalid_parameter', { ...series, limit: 2 ** 31 }],
  ['invalid_parameter', { ...series, context: { timeout: -1 } }],
  ['invalid_parameter', { ...groups, limitSpec: 'default' }],
  ['no_time_grouping', { ...series, granularity: 'all' }],
  ['no_time_grouping', { ...series, granularity: 'NONE' }],
  ['no_time_grouping', { ...series, granularity: { type: 'all' } }],
  ['too_many_buckets', { ...series, intervals: '2026-01-01/2026-03-01' }],
  ['invalid_parameter', { ...groups, limitSpec: { type: 'default', limit: 0 } }],
  ['invalid_parameter', { ...groups, limitSpec: { type: 'default', limit: -5 } }],
  ['invalid_parameter', { ...groups, limitSpec: { type: 'default', columns: 'page' } }],
  ['limit', { ...groups, limitSpec: { limit: 5 } }],
  ['limit', { ...groups, limitSpec: { type: 'NoopLimitSpec', limit: 5 } }],
  ['limit', { ...groups, limitSpec: { type: 'default', offset: 1 } }],
  ['limit', { ...groups, limitSpec: { type: 'default', limit: 5, offset: 1 } }],
  ['limit', { ...groups, limitSpec: { type: 'default', limit: 5 }, context: { forceLimitPushDown: true } }],
  ['not_decomposable', { ...groups, limitSpec: { type: 'default', limit: 5, columns: ['__time'] } }],
  ['not_decomposable', { ...groups, limitSpec: { type: 'default', columns: ['__time'] } }],
  ['not_decomposable', { ...groups, limitSpec: { type: 'default', columns: [{ dimension: '__time' }] } }],
  ['not_decomposable', { ...groups, subtotalsSpec: [] }],
  ['not_decomposable', { ...groups, context: { timestampResultField: 't' } }],
  ['not_decomposable', { ...groups, context: { timestampResultFieldGranularity: 'hour' } }],
  ['not_decomposable', { ...groups, context: { groupByStrategy: 'v1' } }],
  ['not_decomposable', { ...groups, context: { sortByDimsFirst: true } }],
  ['not_decomposable', { ...series, context: { grandTotal: true } }],
  ['not_decomposable', { ...series, intervals: { type: 'segments', segments: [] } }],
  ...['query', 'join', 'unnest', 'inline', 'lookup', 'restrict', 'globalTable', 'other', 5].map(
    (type) => ['not_decomposable', { ...series, dataSource: { type, name: 'a' } }] as const,
  ),
  ['not_decomposable', { ...series, dataSource: { type: 'union', dataSources: [] } }],
  ['not_decomposable', { ...series, dataSource: { type: 'union', dataSources: [{ type: 'query' }] } }],
  ['not_decomposable', { ...series, dataSource: { type: 'filter', base: { type: 'join' } } }],
  ['not_decomposable', { ...groups, dimensions: [lookup] }],
  ['not_decomposable', { ...groups, dimensions: [{ type: 'lookup', dimension: 'page', name: 'x' }] }],
  ['not_decomposable', { ...series, virtualColumns: expression("lookup(page, 'x')") }],
  ['not_decomposable', { ...series, virtualColumns: expression("LOOKUP (page, 'x')") }],
  ['not_decomposable', { ...series, virtualColumns: expression('"\\u006cookup"(page, \'x\')') }],
  ['not_decomposable', { ...series, filter: { type: 'javascript', dimension: 'a', function: 'x' } }],
  ['partial_results', { ...series, context: { returnPartialResults: true } }],
]

for (const [reason, query] of passedOn) {
  test(`${JSON.stringify(query)} is passed on: ${reason}`, () => assert.equal(reasonOf(query), reason))
}

test('a body that is not strict JSON is forwarded', () => {
  const text = JSON.stringify(series)
  for (const body of [
    '',
    'null',
    '[]',
    '"intervals"',
    '{',
    '{"intervals"',
    `${text}x`,
    `[${text}]`,
    text.replace('{', '{"granularity":"day",'),
    text.replace('{', '{"intervals":[],'),
    text.replace('{', '{"interval\\u0073":[],'),
    text.replace(':[', '"['),
    text.replace('15:00"]', '15:00"].5'),
    text.replace('15:00"]', '15:00",]'),
    `{"a":${'['.repeat(10_000)}`,
  ]) {
    assert.equal(reasonOf(body), 'malformed_request', body.slice(0, 200))
  }
})

test('a limit is taken out of the narrowed query, and the answer is cut instead', () => {
  for (const text of [
    JSON.stringify({ ...series, limit: 123 }),
    JSON.stringify({ limit: '123', ...series }),
  ]) {
    const layout = planned(text)
    assert.deepEqual([layout.limit, layout.isVerbatim], [123, false])
    assert.equal(rewritten(layout), text.replace(/"?123"?/, '0').replace(/"intervals":\[.*?\]/, epoch))
  }
})

const epoch = '"intervals":["1970-01-01T00:00:00.000Z/1970-01-01T01:00:00.000Z"]'

test('the limit of a groupBy is taken out too: rows come in time order, and the first ones are the answer', () => {
  const limitSpec = { type: 'default', limit: 1000, columns: ['page'] }
  for (const text of [
    JSON.stringify({ ...groups, limitSpec }),
    JSON.stringify({ limitSpec: { ...limitSpec, limit: '1000' }, ...groups }),
  ]) {
    const layout = planned(text)
    assert.deepEqual([layout.limit, layout.isVerbatim, layout.isUnlimited], [1000, false, true])
    assert.equal(rewritten(layout), text.replace(/"?1000"?/, 'null').replace(/"intervals":\[.*?\]/, epoch))
  }
  const largest = { ...groups, limitSpec: { ...limitSpec, limit: 2 ** 31 - 1 } }
  assert.deepEqual([planned(largest).limit, planned(largest).isVerbatim], [Number.POSITIVE_INFINITY, true])
})

test('limits that are none change nothing', () => {
  for (const limit of [0, '0', null, 2 ** 31 - 1]) {
    const layout = planned({ ...series, limit })
    assert.deepEqual([layout.limit, layout.isVerbatim], [Number.POSITIVE_INFINITY, true])
    assert.equal(layout.shape, shapeOf(series))
  }
})

test('a rewritten query has other intervals and is otherwise the client’s own text', () => {
  const text =
    ' {"ü\\u00fc" : [1.0, 1e3],\n "intervals" :\t["2026-01-01T12/PT3H"] , "dataSource":"😀", "granularity":"hour","queryType":"topN"} '
  const spans = [
    { from: 0, to: hourMs },
    { from: 2 * hourMs, to: 3 * hourMs },
  ]
  const list =
    '["1970-01-01T00:00:00.000Z/1970-01-01T01:00:00.000Z","1970-01-01T02:00:00.000Z/1970-01-01T03:00:00.000Z"]'
  assert.equal(
    Buffer.from(planned(text).rewrite(spans)).toString(),
    text.replace('["2026-01-01T12/PT3H"]', list),
  )
})

test('the same shape: other intervals, order of members, spaces, and texts that Druid reads alike', () => {
  const shape = shapeOf(series)
  const reversed = Object.fromEntries(Object.entries(series).reverse())
  for (const other of [
    reversed,
    { ...series, intervals: { type: 'intervals', intervals: ['2030-01-01/P1D', '2031-01-01/P1D'] } },
    { ...series, granularity: 'HOUR' },
    { ...series, dataSource: { name: 'wiki', type: 'table' } },
    { ...series, descending: 'false' },
    { ...series, context: {} },
    { ...series, context: { queryId: 'x', priority: 5, useCache: false, tag: 'y' } },
  ]) {
    assert.equal(shapeOf(other), shape, JSON.stringify(other))
  }
  assert.equal(shapeOf(JSON.stringify(series, null, 4)), shape)
  assert.equal(shapeOf({ ...series, descending: 'true' }), shapeOf({ ...series, descending: true }))
})

test('another question: anything else', () => {
  const others = [
    { ...series, dataSource: 'Wiki' },
    { ...series, descending: true },
    { ...series, limit: 5 },
    { ...series, limit: 6 },
    { ...series, context: { user: 'x' } },
    { ...series, context: { skipEmptyBuckets: true } },
    { ...series, filter: { type: 'selector', dimension: 'a', value: 'b' } },
    { ...series, granularity: { type: 'period', period: 'PT1H' } },
    { ...top, threshold: 5 },
    { ...top, threshold: 6 },
    { ...groups, dimensions: ['a', 'b'] },
    { ...groups, dimensions: ['b', 'a'] },
  ]
  const shapes = [series, ...others].map(shapeOf)
  assert.equal(new Set(shapes).size, shapes.length)
  const one = JSON.stringify({ ...series, filter: { type: 'bound', lower: 1 } })
  assert.notEqual(shapeOf(one), shapeOf(one.replace('"lower":1', '"lower":1.0')))
})

const members = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 })
const isKept = (layout: Layout | Bypass): layout is Layout => !('bypass' in layout)

test('reordered members share a shape; any other value of a member does not', () => {
  fc.assert(
    fc.property(members, members, (some, others) => {
      const [one, two] = [some, others].map((extra) => plan(JSON.stringify({ ...series, x: extra })))
      const turned = plan(
        JSON.stringify({ x: Object.fromEntries(Object.entries(some).reverse()), ...series }),
      )
      fc.pre(isKept(one!) && isKept(two!) && isKept(turned))
      assert.equal(turned.shape, one.shape)
      const isSame = sorted(JSON.parse(JSON.stringify(some))) === sorted(JSON.parse(JSON.stringify(others)))
      assert.equal(one.shape === two.shape, isSame)
    }),
  )
})

/** Of values as JSON has them. */
function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, member]) => `${JSON.stringify(name)}:${sorted(member)}`).join()}}`
}

test('rewriting to the same spans keeps the plan, but for the spelling of the intervals', () => {
  fc.assert(
    fc.property(members, fc.integer({ min: 0, max: 99 }), (extra, limit) => {
      const layout = plan(JSON.stringify({ x: extra, limit, ...series }))
      fc.pre(isKept(layout))
      const again = planned(Buffer.from(layout.rewrite(layout.spans)).toString())
      assert.deepEqual([again.spans, again.window, again.whole], [layout.spans, layout.window, layout.whole])
      assert.equal(again.limit, Number.POSITIVE_INFINITY)
      assert.equal(again.shape, shapeOf({ x: extra, ...series }))
    }),
  )
})

test('texts cut or damaged anywhere are planned or passed on, never thrown at', () => {
  const text = JSON.stringify({
    ...groups,
    context: { queryId: 'x' },
    limitSpec: { type: 'default', columns: ['a'] },
  })
  const damage = fc.tuple(
    fc.nat(text.length),
    fc.nat(12),
    fc.constantFrom('', '"', '{', ']', ',', '\\', 'null', '\u0000'),
  )
  fc.assert(
    fc.property(fc.array(damage, { minLength: 1, maxLength: 4 }), (damages) => {
      const damaged = damages.reduce(
        (t, [at, length, put]) => t.slice(0, at) + put + t.slice(at + length),
        text,
      )
      const layout = plan(damaged)
      if (isKept(layout)) assert.doesNotThrow(() => JSON.parse(damaged))
    }),
    { numRuns: 3000 },
  )
})

test('a shape that was seen before is memoised, whatever its time range', () => {
  const [one, two] = ['12:00/PT2H', '15:30/PT9H'].map((time) =>
    planned({ ...series, intervals: `2026-01-01T${time}` }),
  )
  assert.deepEqual(one!.grid, two!.grid)
  assert.equal(one!.rewrite, two!.rewrite)
  assert.notEqual(one!.window.from, two!.window.from)
  assert.equal(planned(series), planned(series))
})

test('large queries are planned like others', () => {
  const values = Array.from({ length: 50_000 }, (_, i) => `value ${i}`)
  const large = { ...series, filter: { type: 'in', dimension: 'a', values } }
  assert.equal(shapeOf(large).length > 500_000, true)
  assert.equal(shapeOf(large), shapeOf({ ...large, intervals: '2027-01-01/P1D' }))
})
