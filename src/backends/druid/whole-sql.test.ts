import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { WholeReading } from './whole-reading.ts'
import { readWholeSql } from './whole-sql.ts'

const options = { ignoredContext: ['team'], sqlTimeZone: 'UTC' }
const bounds = "__time >= TIMESTAMP '2026-01-01 00:00:00' AND __time < TIMESTAMP '2026-01-02 00:00:00'"
const day = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2026, 0, 2) }

const read = (query: string, more: object = {}) =>
  readWholeSql('json', JSON.stringify({ query, ...more }), options)

function reading(query: string, more?: object): WholeReading {
  const found = read(query, more)
  assert.ok(!('bypass' in found), JSON.stringify(found))
  return found
}

const reasonOf = (query: string, more?: object): string | undefined => {
  const found = read(query, more)
  return 'bypass' in found ? `${found.bypass}: ${found.detail}` : undefined
}

test('a reading has the query as text, its data sources, and the test of its end', () => {
  const context = { sqlQueryId: 'mine', useCache: false, timeout: 100, sqlOuterLimit: 1001, team: 'a' }
  const query = `SELECT COUNT(*) AS n FROM wiki\nWHERE ${bounds} -- all\n;`
  assert.deepEqual(reading(query, { context }), {
    endpoint: 'totals',
    query,
    text: JSON.stringify([
      '/druid/v2/sql',
      "SELECT COUNT ( * ) AS n FROM wiki WHERE __time >= TIMESTAMP '2026-01-01 00:00:00' AND __time < TIMESTAMP '2026-01-02 00:00:00'",
      [
        ['resultFormat', 'object'],
        ['headers', ''],
      ],
      [],
      [['sqlOuterLimit', '1001']],
      'UTC',
      'timeout=100',
    ]),
    sources: ['wiki'],
    knowsAllSources: true,
    span: day,
    ending: { container: 'list', row: 'object', headerRows: 0, end: '\n' },
    queryId: 'mine',
  })
})

const vouchable: readonly (readonly [query: string, endpoint: string])[] = [
  [`SELECT COUNT(*) FROM wiki WHERE ${bounds}`, 'totals'],
  [
    `SELECT page, SUM(added) AS a FROM "wiki" WHERE ${bounds} GROUP BY page ORDER BY a DESC LIMIT 10`,
    'totals',
  ],
  [
    `SELECT page, SUM(added) FROM druid.wiki WHERE ${bounds} GROUP BY 1 ORDER BY 2 LIMIT 10 OFFSET 5`,
    'totals',
  ],
  [`SELECT page, MAX(added) FROM wiki WHERE ${bounds} GROUP BY 1 FETCH NEXT 5 ROWS ONLY`, 'totals'],
  [`SELECT DISTINCT page FROM wiki WHERE ${bounds}`, 'distinct'],
  [`SELECT DISTINCT page, LOWER(country) FROM wiki WHERE ${bounds} ORDER BY 1 LIMIT 100`, 'distinct'],
  [`SELECT page FROM wiki WHERE ${bounds} GROUP BY page`, 'distinct'],
  [`SELECT LOWER(page) FROM wiki WHERE ${bounds} GROUP BY 1`, 'totals'],
  [`SELECT DISTINCT COUNT(*) FROM wiki WHERE ${bounds}`, 'totals'],
  [`SELECT SUM(added) / COUNT(*) FROM wiki WHERE ${bounds} HAVING COUNT(*) > 5`, 'totals'],
  [`SELECT page IS DISTINCT FROM 'A', COUNT(*) FROM wiki WHERE ${bounds} GROUP BY 1`, 'totals'],
  [`SELECT HLL_SKETCH_ESTIMATE(DS_HLL(page)) FROM wiki WHERE ${bounds}`, 'totals'],
  [`SELECT SUM(added) FILTER (WHERE page = 'A') FROM wiki WHERE ${bounds}`, 'totals'],
  [
    `SELECT page, COUNT(*) FROM wiki WHERE (${bounds}) AND page IN ('A', 'B') GROUP BY ROLLUP(page)`,
    'totals',
  ],
  [`SELECT FLOOR(__time TO HOUR), COUNT(*) FROM wiki WHERE ${bounds} GROUP BY 1 ORDER BY 2`, 'totals'],
  [`SELECT COUNT(*) FROM wiki WHERE TIME_IN_INTERVAL(__time, '2026-01-01/P1D')`, 'totals'],
]

for (const [query, endpoint] of vouchable) {
  test(`cached whole, under a witness: ${query}`, () => {
    const { endpoint: found, sources, knowsAllSources, span } = reading(query)
    assert.deepEqual([found, sources, knowsAllSources, span], [endpoint, ['wiki'], true, day])
  })
}

test('with one bound of time, the span has no other end', () => {
  const { span } = reading("SELECT COUNT(*) FROM wiki WHERE __time >= '2026-01-01'")
  assert.deepEqual(span, { from: day.from, to: Number.POSITIVE_INFINITY })
})

const unvouchable: readonly (readonly [why: string, query: string])[] = [
  ['no bounds', 'SELECT COUNT(*) FROM wiki'],
  ['bounds that are not read', "SELECT COUNT(*) FROM wiki WHERE TIME_FORMAT(__time, 'yyyy') = '2026'"],
  ['an empty range', "SELECT COUNT(*) FROM wiki WHERE __time < '2026-01-01' AND __time > '2026-01-02'"],
  ['a bound by the clock', "SELECT COUNT(*) FROM wiki WHERE __time >= CURRENT_TIMESTAMP - INTERVAL '1' DAY"],
  ['the day of today', 'SELECT DISTINCT page FROM wiki WHERE __time >= CURRENT_DATE'],
  ['the clock among the columns', `SELECT LOCALTIMESTAMP, COUNT(*) FROM wiki WHERE ${bounds} GROUP BY 1`],
  ['the clock in a filter', `SELECT COUNT(*) FROM wiki WHERE ${bounds} AND seen < CURRENT_DATE`],
  ['a lookup', `SELECT LOOKUP(page, 'x'), COUNT(*) FROM wiki WHERE ${bounds} GROUP BY 1`],
]

for (const [why, query] of unvouchable) {
  test(`cached whole, but not under a witness, because of ${why}: ${query}`, () => {
    const { sources, knowsAllSources, span } = reading(query)
    assert.deepEqual([sources, knowsAllSources, span], [['wiki'], true, undefined])
  })
}

for (const query of [
  `SELECT COUNT(*) FROM (SELECT DISTINCT page FROM wiki WHERE ${bounds})`,
  `WITH x AS (SELECT * FROM wiki WHERE ${bounds}) SELECT page, COUNT(*) FROM x GROUP BY 1`,
  `SELECT a.page, COUNT(*) FROM wiki a JOIN other b ON a.page = b.page WHERE ${bounds} GROUP BY 1`,
  `SELECT v, COUNT(*) FROM lookup.x WHERE ${bounds} GROUP BY 1`,
  `SELECT COUNT(*) FROM wiki, other WHERE ${bounds}`,
  `SELECT tag, COUNT(*) FROM wiki, UNNEST(MV_TO_ARRAY(tags)) AS t(tag) WHERE ${bounds} GROUP BY 1`,
  `SELECT page, COUNT(*) FROM wiki WHERE ${bounds} AND page IN (SELECT page FROM other) GROUP BY 1`,
  `SELECT page, country, COUNT(*) FROM wiki WHERE ${bounds} GROUP BY GROUPING SETS ((page), (country))`,
]) {
  test(`cached whole, with unknown data sources: ${query}`, () => {
    const { sources, knowsAllSources, span } = reading(query)
    assert.deepEqual([sources, knowsAllSources, span], [[], false, undefined])
  })
}

const refused: readonly (readonly [query: string, reason: RegExp, more?: object])[] = [
  [`SELECT * FROM wiki WHERE ${bounds} LIMIT 10`, /^not_decomposable: rows as they are stored/],
  [`SELECT page FROM wiki WHERE ${bounds} ORDER BY __time LIMIT 10`, /^not_decomposable: rows/],
  ['SELECT page, SUM(added) OVER () FROM wiki', /^unsafe_function: OVER/],
  ['SELECT COUNT(*) FROM wiki UNION ALL SELECT COUNT(*) FROM other', /^not_decomposable: UNION/],
  ['SELECT (SELECT COUNT(*) FROM wiki), COUNT(*) FROM other', /^not_decomposable: a subquery among/],
  ['SELECT COUNT(*), RAND() FROM wiki', /^unsafe_function: RAND/],
  ['SELECT COUNT(*) FROM wiki WHERE author = CURRENT_USER', /^unsafe_function: CURRENT_USER/],
  ['SELECT COUNT(*) FROM sys.segments', /^unsafe_function: a table of sys/],
  ['SELECT DISTINCT TABLE_NAME FROM "INFORMATION_SCHEMA"."TABLES"', /^unsafe_function: a table of INFO/],
  ["SELECT COUNT(*) FROM TABLE(EXTERN('{}'))", /^unsafe_function: TABLE/],
  ['SELECT COUNT(*) FROM wiki TABLESAMPLE BERNOULLI(10)', /^unsafe_function: TABLESAMPLE/],
  ['SELECT "COUNT"(*) FROM wiki GROUP BY 1', /^unparseable_query: a call by a quoted name/],
  ['SELECT COUNT(*) FROM wiki; SELECT 1', /^unparseable_query: several statements/],
  ['SELECT COUNT(* FROM wiki', /^unparseable_query: a bracket that is not closed/],
  ['SELECT COUNT(*)) FROM wiki (', /^unparseable_query: brackets that are nested/],
  ['SELECT /*+ hint */ COUNT(*) FROM wiki', /^unparseable_query/],
  ['EXPLAIN PLAN FOR SELECT COUNT(*) FROM wiki', /^other_query_type: SQL that is no SELECT/],
  ['INSERT INTO a SELECT COUNT(*) FROM wiki PARTITIONED BY ALL', /^other_query_type/],
  ['SELECT COUNT(*) FROM wiki', /^not_decomposable: another engine/, { context: { engine: 'msq-dart' } }],
  [
    'SELECT COUNT(*) FROM wiki',
    /^invalid_parameter: sqlCurrentTimestamp/,
    { context: { sqlCurrentTimestamp: 'x' } },
  ],
  ['SELECT COUNT(*) FROM wiki', /^partial_results/, { context: { executionMode: 'ASYNC' } }],
  [
    'SELECT COUNT(*) FROM wiki',
    /^invalid_parameter: more parameters/,
    { parameters: [{ type: 'BIGINT', value: 1 }] },
  ],
  ['SELECT COUNT(*) FROM wiki', /^invalid_parameter: a resultFormat/, { resultFormat: 'xml' }],
]

for (const [query, reason, more] of refused) {
  test(`not cached whole, because ${reason.source.slice(1)}: ${query}`, () => {
    assert.match(reasonOf(query, more) ?? 'it is', reason)
  })
}

test('the limit of the session is part of the question, also where the operator calls it incidental', () => {
  const ignoring = { ...options, ignoredContext: ['sqlOuterLimit'] }
  const body = JSON.stringify({ query: 'SELECT COUNT(*) FROM wiki', context: { sqlOuterLimit: 5 } })
  const found = readWholeSql('json', body, ignoring)
  assert.deepEqual(found, { bypass: 'limit', detail: 'sqlOuterLimit' })
})

test('another question has another text', () => {
  const query = `SELECT page, COUNT(*) FROM wiki WHERE ${bounds} GROUP BY 1 LIMIT 5`
  const texts = [
    reading(query),
    reading(query.replace('LIMIT 5', 'LIMIT 6')),
    reading(query.replace('01-02', '01-03')),
    reading(query.replace('wiki', 'other')),
    reading(query, { resultFormat: 'array' }),
    reading(query, { resultFormat: 'array', header: true }),
    reading(query, { context: { sqlTimeZone: 'Europe/Berlin' } }),
    reading(query, { context: { sqlOuterLimit: 5 } }),
    reading(query, { context: { timeout: 5 } }),
    reading(query, { unknown: 1 }),
    reading(`SET useApproximateTopN = FALSE; ${query}`),
    reading(`${query.replace('LIMIT 5', 'LIMIT ?')}`, { parameters: [{ type: 'BIGINT', value: 5 }] }),
    reading(`${query.replace('LIMIT 5', 'LIMIT ?')}`, { parameters: [{ type: 'BIGINT', value: 6 }] }),
  ].map(({ text }) => text)
  assert.equal(new Set(texts).size, texts.length)
})

const pieces = fc.record({
  column: fc.constantFrom('page', '"page"', 'country'),
  number: fc.constantFrom('COUNT(*)', 'SUM(added)', 'SUM(deleted)'),
  literal: fc.string().map((text) => `'${text.replaceAll("'", "''")}'`),
  limit: fc.constantFrom('', 'LIMIT 5', 'LIMIT 6'),
})
const gap = fc.constantFrom(' ', '\n', '\t  ', ' /* note */ ', ' -- note\n')

test('texts are equal exactly for equal questions, whatever stands between their words', () => {
  const write = ({ column, number, literal, limit }: Record<string, string>, space: string) =>
    `SELECT ${column}, ${number} FROM wiki WHERE ${bounds} AND tag = ${literal} GROUP BY 1 ${limit}`
      .split(/ (?=(?:[^']*'[^']*')*[^']*$)/)
      .join(space)
  fc.assert(
    fc.property(pieces, pieces, gap, (one, other, space) => {
      const { text } = reading(write(one, ' '))
      assert.equal(reading(write(one, space), { context: { sqlQueryId: 'x' } }).text, text)
      const isEqual = JSON.stringify(one) === JSON.stringify(other)
      assert.equal(reading(write(other, space)).text === text, isEqual)
    }),
  )
})
