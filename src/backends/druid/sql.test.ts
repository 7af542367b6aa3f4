import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { garbageCollector } from '../../core/runtime.ts'
import type { WireRequest } from '../backend.ts'
import type { DruidPlan } from './druid-plan.ts'
import { narrow } from './narrow.ts'
import type { Bypass, BypassReason } from './reasons.ts'
import { createSqlPlanner } from './sql.ts'

const planner = createSqlPlanner({ maxBuckets: 10_000, ignoredContext: ['team'] })
const now = Date.parse('2026-01-05T12:34:56.789Z')

const jsonType = ['content-type', 'application/json']

const post = (body: string | object, changes: Partial<WireRequest> = {}): WireRequest => ({
  method: 'POST',
  path: '/druid/v2/sql',
  search: '',
  headers: jsonType,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  ...changes,
})

const ask = (query: string, more: object = {}): DruidPlan | Bypass => planner(post({ query, ...more }), now)

function planned(query: string, more: object = {}): DruidPlan {
  const plan = ask(query, more)
  assert.ok(!('bypass' in plan), `${query}: ${JSON.stringify(plan)}`)
  return plan
}

const reasonOf = (plan: DruidPlan | Bypass): BypassReason | 'eligible' =>
  'bypass' in plan ? plan.bypass : 'eligible'

const bodyOf = (plan: DruidPlan, spans = plan.spans): string => Buffer.from(plan.rewrite(spans)).toString()

const bounds = "__time >= '2026-01-01' AND __time < '2026-01-02'"
const bucket = "TIME_FLOOR(__time, 'PT1H')"
const hourly = `SELECT ${bucket} AS t, COUNT(*) AS n FROM wiki WHERE ${bounds} GROUP BY 1 ORDER BY 1`

/** {w} stands for the table and bounds. */
const filled = (query: string): string => query.replace('{w}', `FROM wiki WHERE ${bounds}`)

function each(expected: BypassReason | 'eligible', queries: readonly string[]): void {
  test(`${expected}: ${queries.length} queries`, () => {
    for (const query of queries) assert.equal(reasonOf(ask(filled(query))), expected, query)
  })
}

each('eligible', [
  hourly,
  `SELECT ${bucket}, COUNT(*) {w} GROUP BY ${bucket} ORDER BY ${bucket}`,
  `SELECT ${bucket} AS t, COUNT(*) {w} GROUP BY 1 ORDER BY t DESC`,
  `SELECT ${bucket} t, COUNT(*) n {w} GROUP BY 1 ORDER BY "t" ASC`,
  `SELECT ${bucket} AS t, COUNT(*) {w} GROUP BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} GROUP BY 1 ORDER BY (1)`,
  `SELECT page, ${bucket} AS t, COUNT(*) {w} GROUP BY page, 2 ORDER BY 2, COUNT(*) DESC, page`,
  `SELECT ${bucket} AS page, wiki.page AS p, COUNT(*) {w} GROUP BY 1, 2 ORDER BY page`,
  `SELECT ${bucket} AS __time, COUNT(*) {w} GROUP BY 1 ORDER BY __time`,
  `SELECT ${bucket} AS t, FLOOR(__time TO DAY) AS d, COUNT(*) {w} GROUP BY 1, 2 ORDER BY 1`,
  `SELECT FLOOR(__time TO HOUR) AS t, COUNT(*) {w} GROUP BY FLOOR(__time TO HOUR) ORDER BY 1 NULLS FIRST`,
  "SELECT DATE_TRUNC('hour', __time) AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1",
  "SELECT TIME_FLOOR(CAST(__time AS TIMESTAMP), 'PT1H') AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1",
  "SELECT TIME_FLOOR(__time, 'PT2H', TIMESTAMP '2026-01-01 00:30:00') AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1",
  "SELECT TIME_FLOOR(__time, 'P1D', NULL, 'Europe/Berlin') AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1",
  `SELECT ${bucket} AS t, SUM(x) FILTER (WHERE y = 'SELECT' AND z IN (1, 2)) {w} GROUP BY 1 HAVING SUM(x) > 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(DISTINCT page) AS "LIMIT" {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, CASE WHEN a THEN CASE b WHEN 1 THEN 2 END ELSE 3 END AS c {w} GROUP BY 1, 2 ORDER BY 1`,
  `SELECT ${bucket} AS t, JSON_VALUE(j, '$.a' RETURNING BIGINT) AS j {w} GROUP BY 1, 2 ORDER BY 1, 2`,
  `SELECT ${bucket} AS t, TRIM(BOTH 'x' FROM a), EXTRACT(HOUR FROM __time), LEFT(b, 2) {w} GROUP BY 1, 2, 3, 4 ORDER BY 1`,
  `SELECT ${bucket} AS t, -x + 2 * (y - 1) / 3 % 4, a || 'b' {w} GROUP BY 1, 2, 3 ORDER BY 1`,
  `SELECT ${bucket} AS t, LATEST(x), EARLIEST_BY(a, b), ANY_VALUE(c), DS_THETA(d) {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, LISTAGG(x) WITHIN GROUP (ORDER BY y) {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} AND (a = 1 OR NOT b LIKE 'x%' ESCAPE '!' OR c IS NOT NULL) GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} AND a IS NOT DISTINCT FROM b AND c NOT IN (1, 2) AND d SIMILAR TO 'e' GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} AND (a, b) IN ((1, 2), (3, 4)) AND x = TRUE GROUP BY 1 ORDER BY 1`,
  `-- the edits\nSELECT /* by hour */ ${bucket} AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1 -- the end`,
  `SELECT ${bucket} AS t, COUNT(*) FROM druid.wiki AS w WHERE w.${bounds} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) FROM "druid"."my wiki" w WHERE w."__time" >= '2026-01-01' AND __time < '2026-01-02' GROUP BY 1 ORDER BY 1;`,
  `SELECT ${bucket} AS t, COUNT(*) FROM wiki WHERE __time >= CURRENT_TIMESTAMP - INTERVAL '6' HOUR GROUP BY 1 ORDER BY 1`,
  `select ${bucket} as t, count(*) {w} group by 1 order by 1 desc`,
  `SET useApproximateTopN = FALSE; SET sqlTimeZone = 'Europe/Berlin'; SELECT ${bucket} AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1`,
])

each('no_time_grouping', [
  'SELECT COUNT(*) {w}',
  'SELECT * {w}',
  'SELECT page, COUNT(*) {w} GROUP BY 1 ORDER BY 1',
  // Druid has no names of columns in GROUP BY.
  `SELECT ${bucket} AS t, COUNT(*) {w} GROUP BY t ORDER BY t`,
  `SELECT COUNT(*) {w} GROUP BY ${bucket} ORDER BY ${bucket}`,
  `SELECT TIME_FORMAT(${bucket}, 'HH') AS t, COUNT(*) {w} GROUP BY ${bucket} ORDER BY ${bucket}`,
  `SELECT CAST(${bucket} AS VARCHAR) AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1`,
  "SELECT TIME_CEIL(__time, 'PT1H') AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1",
  'SELECT __time AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1',
  "SELECT TIME_FLOOR(other, 'PT1H') AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1",
  'SELECT TIME_FLOOR(__time, period) AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1',
  "SELECT TIME_FLOOR(__time, 'PT1H', NULL, 'Mars/Olympus') AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1",
  "SELECT TIME_FLOOR(__time, 'PT1H', NULL, 'europe/berlin') AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1",
  "SELECT DATE_TRUNC('fortnight', __time) AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1",
  'SELECT FLOOR(__time TO DECADE) AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1',
  `SELECT ${bucket} AS t, COUNT(*) {w} GROUP BY 7 ORDER BY 1`,
  'SELECT COUNT(*) {w} GROUP BY ()',
  'SELECT COUNT(*) {w} GROUP BY () HAVING COUNT(*) > 1',
])

each('not_decomposable', [
  `SELECT ${bucket} AS t, COUNT(DISTINCT page), COUNT(DISTINCT city) {w} GROUP BY 1`,
  // A sketch is compared before it is a number, and a column that is not in the answer cannot be.
  `SELECT ${bucket} AS t, page, COUNT(DISTINCT city) AS n {w} GROUP BY 1, 2 ORDER BY n DESC`,
  `SELECT ${bucket} AS t, page, APPROX_COUNT_DISTINCT(city) AS n {w} GROUP BY 1, 2 ORDER BY n DESC`,
  `SELECT ${bucket} AS t, page, LATEST(city) AS n {w} GROUP BY 1, 2 ORDER BY n`,
  `SELECT ${bucket} AS t, page, CASE WHEN COUNT(*) > 1 THEN 2 ELSE 0.5 END AS n {w} GROUP BY 1, 2 ORDER BY n`,
  `SELECT ${bucket} AS t, page {w} GROUP BY 1, 2 ORDER BY COUNT(*) DESC LIMIT 10`,
  `SELECT ${bucket} AS t, COUNT(*) AS n {w} GROUP BY page, 1 ORDER BY n DESC LIMIT 10`,
  `SELECT ${bucket} AS t, COUNT(*) AS n {w} GROUP BY page, 1`,
  // Text that is a time is sorted as a time.
  `SELECT FLOOR(__time TO DAY) AS d, ${bucket} AS t, COUNT(*) AS n {w} GROUP BY TIME_SHIFT(FLOOR(__time TO DAY), 'P1D', 1), 2 ORDER BY n`,
  `SELECT EXTRACT(HOUR FROM __time) AS h, ${bucket} AS t, COUNT(*) AS n {w} GROUP BY 1, 2 ORDER BY n`,
  `SELECT ${bucket} AS t, ARRAY_AGG(x LIMIT 3) {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) AS n {w} GROUP BY 1 ORDER BY t + INTERVAL '1' HOUR`,
  `SELECT ${bucket} AS t, MAX(x) AS __time {w} GROUP BY 1 ORDER BY ${bucket}`,
  `SELECT ${bucket} AS t, COUNT(*) AS t {w} GROUP BY 1 ORDER BY 1`,
  `SELECT DISTINCT ${bucket} AS t {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, SUM(COUNT(*)) OVER (ORDER BY 1) {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} GROUP BY ROLLUP (1) ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} GROUP BY CUBE (1) ORDER BY 1`,
  `SELECT ${bucket} AS t, page, COUNT(*) {w} GROUP BY GROUPING SETS ((1, 2), (1)) ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) FROM (SELECT * FROM wiki) WHERE ${bounds} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} AND page IN (SELECT page FROM top) GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) FROM wiki JOIN other ON a = b WHERE ${bounds} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) FROM wiki, other WHERE ${bounds} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) FROM wiki CROSS JOIN UNNEST(tags) AS x WHERE ${bounds} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) FROM TABLE(APPEND('a', 'b')) WHERE ${bounds} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) FROM lookup.codes WHERE ${bounds} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) FROM sys.segments WHERE ${bounds} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, LOOKUP(page, 'codes') AS c, COUNT(*) {w} GROUP BY 1, 2 ORDER BY 1`,
  `${hourly} UNION ALL ${hourly}`,
])

each('limit', [
  `${hourly} OFFSET 5`,
  `${hourly} LIMIT 10 OFFSET 5`,
  `${hourly} FETCH FIRST 10 ROWS ONLY`,
  `${hourly} LIMIT 0`,
  `${hourly} LIMIT ALL`,
  `${hourly} LIMIT 1.5`,
  // A topN of 1440 minutes of which every server may leave out some.
  "SELECT TIME_FLOOR(__time, 'PT1M') AS t, COUNT(*) AS n {w} GROUP BY 1 ORDER BY n DESC LIMIT 10",
])

each('eligible', [
  `${hourly} LIMIT 10`,
  `${hourly} LIMIT 10;`,
  `${hourly} -- the first ones\nLIMIT 10 -- only`,
  `SELECT ${bucket} AS t, COUNT(DISTINCT page) {w} GROUP BY 1`,
  `SELECT ${bucket} AS t, page, COUNT(*) {w} GROUP BY 1, 2`,
  `SELECT ${bucket} AS t, page, COUNT(*) {w} GROUP BY 1, 2 LIMIT 5`,
  `SELECT ${bucket} AS t, page, COUNT(*) {w} GROUP BY 2, 1`,
  `SELECT ${bucket} AS t, page, COUNT(*) AS n {w} GROUP BY 1, 2 ORDER BY n DESC`,
  `SELECT ${bucket} AS t, page, COUNT(*) {w} GROUP BY 1, 2 ORDER BY 2, 1`,
  `SELECT ${bucket} AS t, page, COUNT(*) AS n {w} GROUP BY 1, 2 ORDER BY n DESC LIMIT 100`,
  `SELECT ${bucket} AS t, COUNT(*) AS n {w} GROUP BY page, 1 ORDER BY n DESC, t LIMIT 10`,
  `SELECT ${bucket} AS t, SUM(x) FILTER (WHERE y > (2)) AS n {w} GROUP BY 1 ORDER BY n LIMIT 3`,
  `SELECT ${bucket} AS t, ROUND(SUM(x) * 1.0 / COUNT(*), 2) AS n {w} GROUP BY 1 ORDER BY n LIMIT 3`,
  `SELECT ${bucket} AS t, updated AS u, COUNT(*) AS n {w} GROUP BY updated, 1 ORDER BY COUNT(*), 1`,
  "SELECT TIME_FLOOR(__time, 'PT1M') AS t, COUNT(*) AS n {w} GROUP BY 1 ORDER BY n DESC LIMIT 2000",
  "SELECT TIME_FLOOR(__time, 'PT1M') AS t, COUNT(*) AS n {w} GROUP BY 1 ORDER BY n DESC",
])

each('other_query_type', [
  `EXPLAIN PLAN FOR ${hourly}`,
  `WITH x AS (${hourly}) SELECT * FROM x`,
  `INSERT INTO y ${hourly} PARTITIONED BY ALL`,
  'VALUES (1)',
  '',
])

each('unsafe_function', [
  `SELECT ${bucket} AS t, CURRENT_TIMESTAMP {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) FILTER (WHERE __time > CURRENT_DATE) {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} AND (page = 'A' OR __time > LOCALTIMESTAMP) GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} GROUP BY 1 HAVING MAX(__time) < CURRENT_TIMESTAMP ORDER BY 1`,
  `SELECT ${bucket} AS t, RAND() {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} AND page = SESSION_USER GROUP BY 1 ORDER BY 1`,
])

each('unparseable_query', [
  'SELECT',
  `SELECT ${bucket} AS t FROM`,
  `${hourly} ASC SOMETHING`,
  `SELECT ${bucket} AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1 // a comment`,
  `SELECT /*+ hint */ ${bucket} AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1`,
  `SELECT /** doc */ ${bucket} AS t, COUNT(*) {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, a[1] {w} GROUP BY 1, 2 ORDER BY 1`,
  `SELECT ${bucket} AS t, x::BIGINT {w} GROUP BY 1, 2 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} AND page = U&'\\0041' GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} AND page = _latin1'x' GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, "COUNT"(*) {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) FILTER (WHERE "LOOKUP"(page, 'codes') = 'x') {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, CASE WHEN "RAND"() > 0.5 THEN 1 END {w} GROUP BY 1, 2 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} AND größe = 1 GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} AND page = 'open GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(* {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, CASE WHEN a THEN b {w} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} AND ${'('.repeat(200)}a = 1${')'.repeat(200)} GROUP BY 1 ORDER BY 1`,
  `SELECT ${bucket} AS t, COUNT(*) {w} AND page IN (${"'x',".repeat(40_000)}'y') GROUP BY 1 ORDER BY 1`,
  `SET a; ${hourly}`,
  `SET a = b; ${hourly}`,
  `SET a = 1 ${hourly}`,
])

test('granularities without a grid are not read', () => {
  assert.equal(reasonOf(ask(hourly.replace('PT1H', 'P1M2D'))), 'irregular_granularity')
  assert.equal(reasonOf(ask(hourly.replace('PT1H', 'soon'))), 'invalid_parameter')
  assert.equal(reasonOf(ask(hourly.replace('PT1H', 'PT1S'))), 'too_many_buckets')
})

test('a plan has the requested spans', () => {
  const plan = planned(
    `SELECT page, ${bucket} AS t FROM wiki WHERE __time >= '2026-01-01T00:30' AND __time < '2026-01-01T04:10' AND a = 1 GROUP BY 1, 2 ORDER BY 2 DESC`,
    { context: { sqlQueryId: 'mine', timeout: 5000 } },
  )
  const first = Date.UTC(2026, 0, 1) / 3_600_000
  assert.deepEqual(plan.window, { from: first, to: first + 5 })
  assert.deepEqual(plan.whole, [{ from: first + 1, to: first + 4 }])
  assert.deepEqual(plan.edges?.buckets, [
    { from: first, to: first + 1 },
    { from: first + 4, to: first + 5 },
  ])
  assert.deepEqual(plan.sources, ['wiki'])
  assert.equal(plan.queryId, 'mine')
  assert.equal(plan.terms, 'timeout=5000')
  assert.ok(plan.isDescending && plan.isVerbatim && plan.knowsAllSources)
  assert.equal(plan.limit, Number.POSITIVE_INFINITY)
})

test('every result format, with every header', () => {
  const formats = { object: 'list', array: 'list', objectLines: 'lines', arrayLines: 'lines', csv: 'lines' }
  for (const [resultFormat, container] of Object.entries(formats)) {
    const isObject = resultFormat.startsWith('object')
    const time = isObject ? 't' : 0
    const row = resultFormat.replace('Lines', '')
    for (const [more, headerRows] of [
      [{}, 0],
      [{ header: true }, 1],
      [{ header: 'true', typesHeader: true }, isObject ? 1 : 2],
      [{ header: true, typesHeader: true, sqlTypesHeader: true }, isObject ? 1 : 3],
    ] as const) {
      const { format } = planned(hourly, { resultFormat, ...more })
      assert.deepEqual(format, { container, row, time, headerRows, end: '\n' })
    }
  }
  assert.equal(planned(hourly).format.row, 'object')
  assert.equal(planned(hourly, { resultFormat: 'ARRAY' }).format.row, 'array')
  assert.equal(reasonOf(ask(hourly, { resultFormat: 'xml' })), 'invalid_parameter')
  assert.equal(reasonOf(ask(hourly, { typesHeader: true })), 'invalid_parameter')
  assert.equal(reasonOf(ask(hourly, { header: 'perhaps' })), 'invalid_parameter')
})

test('the time column is found by name or by place', () => {
  const query = `SELECT COUNT(*), page, ${bucket} {w} GROUP BY 2, 3 ORDER BY 3`
  assert.equal(planned(filled(query)).format.time, 'EXPR$2')
  assert.equal(planned(filled(query), { resultFormat: 'csv' }).format.time, 2)
  const twins = filled(`SELECT ${bucket} AS t, COUNT(*) AS t {w} GROUP BY 1 ORDER BY 1`)
  assert.equal(planned(twins, { resultFormat: 'array' }).format.time, 0)
})

test('a column without a name is looked for only where its name is certain', () => {
  const day = "TIME_FLOOR(__time, 'P1D')"
  for (const columns of [
    `${day} AS "EXPR$1", ${bucket}, COUNT(*)`,
    `${bucket}, ${day} AS "EXPR$0", COUNT(*)`,
    `COUNT(*) AS n, SUM(x) AS n, ${bucket}, ${day}`,
  ]) {
    const query = filled(`SELECT ${columns} {w} GROUP BY ${bucket}, ${day} ORDER BY ${bucket}`)
    assert.equal(reasonOf(ask(query)), 'not_decomposable', columns)
    assert.equal(reasonOf(ask(query, { resultFormat: 'arrayLines' })), 'eligible', columns)
  }
})

test('the narrowed query is the client’s own but for its bounds', () => {
  const query = `SELECT ${bucket} AS t -- "x"\nFROM wiki WHERE a = 'ä''' AND __time >= ? AND (b = ? AND __time < '2026-01-02') GROUP BY 1`
  const parameters = [
    { type: 'VARCHAR', value: '2026-01-01' },
    { type: 'BIGINT', value: 7 },
  ]
  const whole = planned(query, { parameters, context: { sqlQueryId: 'q' }, more: [1.0] })
  assert.deepEqual(JSON.parse(bodyOf(whole)), {
    query: `SELECT ${bucket} AS t -- "x"\nFROM wiki WHERE a = 'ä''' AND (__time >= MILLIS_TO_TIMESTAMP(1767225600000) AND __time < MILLIS_TO_TIMESTAMP(1767312000000)) AND (b = ? AND (TRUE)) GROUP BY 1`,
    parameters: [{ type: 'BIGINT', value: 7 }],
    context: { sqlQueryId: 'q' },
    more: [1.0],
  })
  const { from } = whole.window
  const some = narrow(whole, [
    { from: from + 1, to: from + 2 },
    { from: from + 5, to: from + 7 },
  ])
  assert.match(
    Buffer.from(some.body).toString(),
    /AND \(\(__time >= MILLIS_TO_TIMESTAMP\(1767229200000\) AND __time < MILLIS_TO_TIMESTAMP\(1767232800000\)\) OR \(__time >= MILLIS_TO_TIMESTAMP\(1767243600000\) AND/,
  )
})

test('words that touch a bound do not run into its replacement', () => {
  const query = `SELECT ${bucket} AS t FROM wiki WHERE"__time">='2026-01-01'AND"__time"<'2026-01-02'AND"__time"<'2026-01-03'GROUP BY 1`
  const { query: narrowed } = JSON.parse(bodyOf(planned(query))) as { query: string }
  assert.equal(reasonOf(ask(narrowed)), 'eligible')
  assert.equal(planned(narrowed).shape.includes('GROUP BY 1'), true)
})

test('every other byte of the body stays, wherever the parameters stand', () => {
  const text = ` { "context" : {"a":1.0} , "parameters" : [ {"type":"VARCHAR","value":"2026-01-01"} , {"value":1,"type":"BIGINT"} ],\n "query" : ${JSON.stringify(`SELECT ${bucket} AS t FROM wiki WHERE __time >= ? AND b = ? AND __time < '2026-01-02' GROUP BY 1`)} }`
  const plan = planner(post(text), now)
  assert.ok(!('bypass' in plan))
  assert.equal(
    bodyOf(plan),
    ` { "context" : {"a":1.0} , "parameters" : [{"value":1,"type":"BIGINT"}],\n "query" : "SELECT TIME_FLOOR(__time, 'PT1H') AS t FROM wiki WHERE (__time >= MILLIS_TO_TIMESTAMP(1767225600000) AND __time < MILLIS_TO_TIMESTAMP(1767312000000)) AND b = ? AND (TRUE) GROUP BY 1" }`,
  )
})

test('where clocks are put back, rows are requested by milliseconds', () => {
  const plan = planned(hourly, { context: { sqlTimeZone: 'America/New_York' } })
  assert.match(
    bodyOf(plan),
    /\(TIMESTAMP_TO_MILLIS\(__time\) >= 1767243600000 AND TIMESTAMP_TO_MILLIS\(__time\) < 1767330000000\)/,
  )
})

test('the clock is pinned, and not part of the question', () => {
  const query = `SELECT ${bucket} AS t FROM wiki WHERE __time >= CURRENT_TIMESTAMP - INTERVAL '2' HOUR AND __time < CURRENT_TIMESTAMP GROUP BY 1`
  const [early, late] = [0, 3_600_000].map((later) => planner(post({ query }), now + later))
  assert.ok(early !== undefined && late !== undefined && !('bypass' in early) && !('bypass' in late))
  assert.equal(early.shape, late.shape)
  assert.deepEqual(early.grid, late.grid)
  assert.deepEqual(early.spans, [{ from: now - 7_200_000, to: now }])
  assert.deepEqual(late.window, { from: early.window.from + 1, to: early.window.to + 1 })
  assert.ok(!bodyOf(late).includes('CURRENT_TIMESTAMP'))
})

test('without an upper bound, future buckets are fetched each time and never stored', () => {
  const query = `SELECT ${bucket} AS t FROM wiki WHERE __time >= '2026-01-05T09:15' GROUP BY 1`
  const plan = planned(query)
  const current = Math.floor(now / 3_600_000)
  assert.deepEqual(plan.whole, [{ from: current - 2, to: current + 1 }])
  assert.deepEqual(plan.edges?.buckets, [
    { from: current - 3, to: current - 2 },
    { from: current + 1, to: current + 2 },
  ])
  assert.match(bodyOf(plan), /WHERE \(__time >= MILLIS_TO_TIMESTAMP\(1767604500000\)\) GROUP/)
  const gap = Buffer.from(narrow(plan, plan.whole).body).toString()
  assert.match(gap, /AND __time < MILLIS_TO_TIMESTAMP/)
  const tail = Buffer.from(narrow(plan, [{ from: current + 1, to: current + 2 }]).body).toString()
  assert.match(tail, /WHERE \(__time >= MILLIS_TO_TIMESTAMP\(1767618000000\)\) GROUP/)
})

test('an open window that begins in the last bucket, or later, is edges only', () => {
  for (const start of ['2026-01-05T12:15', '2026-01-07T00:15']) {
    const plan = planned(`SELECT ${bucket} AS t FROM wiki WHERE __time >= '${start}' GROUP BY 1`)
    assert.deepEqual(plan.whole, [])
    assert.deepEqual(plan.edges?.buckets, [plan.window])
  }
})

test('a session that names no zone has the one that Druid is configured with', () => {
  const other = createSqlPlanner({ maxBuckets: 10_000, sqlTimeZone: 'Asia/Tokyo' })
  const plan = other(post({ query: hourly }), now)
  assert.ok(!('bypass' in plan))
  assert.equal(plan.spans[0]!.from, Date.parse('2026-01-01T00:00:00+09:00'))
  assert.notEqual(plan.shape, planned(hourly).shape)
})

test('the context: keys of the shape, other keys, and keys that forbid caching', () => {
  const shapeOf = (context: object): string => planned(hourly, { context }).shape
  const plain = shapeOf({})
  for (const context of [
    { sqlQueryId: 'a' },
    { queryId: 'b', timeout: 1, priority: 2 },
    { useCache: false },
    { team: 'x' },
  ]) {
    assert.equal(shapeOf(context), plain, JSON.stringify(context))
  }
  for (const context of [
    { useApproximateCountDistinct: false },
    { unknown: 1 },
    { sqlTimeZone: 'Asia/Tokyo' },
  ]) {
    assert.notEqual(shapeOf(context), plain, JSON.stringify(context))
  }
  const refused: readonly (readonly [object, BypassReason])[] = [
    [{ sqlOuterLimit: 100 }, 'limit'],
    [{ engine: 'msq-dart' }, 'not_decomposable'],
    [{ sqlCurrentTimestamp: '2026-01-01' }, 'invalid_parameter'],
    [{ sqlTimeZone: 'nowhere' }, 'invalid_parameter'],
    [{ sqlTimeZone: 'america/new_york' }, 'invalid_parameter'],
    [{ sqlTimeZone: 5 }, 'invalid_parameter'],
    // Druid takes null in a native query, but not here.
    [{ sqlTimeZone: null }, 'invalid_parameter'],
    [{ priority: null }, 'invalid_parameter'],
    [{ bySegment: true }, 'not_decomposable'],
    [{ returnPartialResults: true }, 'partial_results'],
  ]
  for (const [context, reason] of refused) {
    assert.equal(reasonOf(ask(hourly, { context })), reason, JSON.stringify(context))
  }
  assert.equal(reasonOf(ask(hourly, { context: { engine: 'native' } })), 'eligible')
})

test('SET statements are context: they count more than the one beside the query', () => {
  const set = (text: string, context: object = {}): DruidPlan => planned(`${text} ${hourly}`, { context })
  assert.equal(set("SET sqlQueryId = 'x'; SET timeout = 5;").shape, planned(hourly).shape)
  assert.equal(set('SET timeout = 5;').terms, 'timeout=5')
  assert.equal(
    set("SET sqlTimeZone = 'Asia/Tokyo';").shape,
    planned(hourly, { context: { sqlTimeZone: 'Asia/Tokyo' } }).shape,
  )
  assert.equal(
    set("SET sqlTimeZone = 'Asia/Tokyo';", { sqlTimeZone: 'UTC' }).spans[0]!.from,
    Date.parse('2026-01-01T00:00:00+09:00'),
  )
  assert.notEqual(set('SET a = 1;').shape, set('SET a = 2;').shape)
  assert.notEqual(set("SET a = '1';").shape, set('SET a = 1;').shape)
  assert.equal(reasonOf(ask(`SET sqlOuterLimit = 5; ${hourly}`)), 'limit')
  assert.equal(reasonOf(ask(`SET bySegment = TRUE; ${hourly}`)), 'not_decomposable')
  assert.ok(bodyOf(set("SET a = 'b';")).includes("SET a = 'b'; SELECT"))
})

test('a plain text, and a form, hold the query alone', () => {
  const text = (body: string, type: string): DruidPlan | Bypass =>
    planner(post(body, { headers: ['content-type', type] }), now)
  const plain = text(hourly, 'text/plain')
  assert.ok(!('bypass' in plain))
  assert.equal(
    bodyOf(plain),
    hourly.replace(
      bounds,
      '(__time >= MILLIS_TO_TIMESTAMP(1767225600000) AND __time < MILLIS_TO_TIMESTAMP(1767312000000)) AND (TRUE)',
    ),
  )
  const form = text(encodeURIComponent(hourly).replaceAll('%20', '+'), 'application/x-www-form-urlencoded')
  assert.ok(!('bypass' in form))
  assert.equal(decodeURIComponent(bodyOf(form)), bodyOf(plain))
  assert.equal(form.shape, plain.shape)
  assert.equal(reasonOf(text(`${hourly} -- ä`, 'text/plain')), 'malformed_request')
  assert.equal(reasonOf(text(`query=${hourly}`, 'application/x-www-form-urlencoded')), 'malformed_request')
  assert.equal(reasonOf(text(hourly, 'text/csv')), 'malformed_request')
  assert.equal(reasonOf(planner(post(hourly, { headers: [] }), now)), 'malformed_request')
})

test('bodies of another form than expected', () => {
  const bodies: readonly (readonly [string, BypassReason])[] = [
    ['', 'malformed_request'],
    ['[]', 'malformed_request'],
    ['{"query":"SELECT 1","query":"SELECT 2"}', 'malformed_request'],
    ['{}', 'missing_parameter'],
    ['{"query":5}', 'missing_parameter'],
    [`{"query":${JSON.stringify(hourly)},"context":[]}`, 'invalid_parameter'],
    [`{"query":${JSON.stringify(hourly)},"parameters":{}}`, 'invalid_parameter'],
  ]
  for (const [body, reason] of bodies) assert.equal(reasonOf(planner(post(body), now)), reason, body)
  assert.equal(reasonOf(planner(post(hourly, { body: Buffer.from([0xff]) }), now)), 'malformed_request')
  assert.equal(reasonOf(planner(post({ query: hourly }, { search: 'pretty' }), now)), 'other_encoding')
  assert.equal(
    reasonOf(
      planner(
        post({ query: hourly }, { headers: [...jsonType, 'accept', 'application/x-jackson-smile'] }),
        now,
      ),
    ),
    'other_encoding',
  )
})

test('spaces, comments and the way to write bounds do not change the question; everything else does', () => {
  const { shape } = planned(hourly)
  assert.equal(planned(`  ${hourly.replaceAll(' ', '\n\t')} -- end`).shape, shape)
  assert.equal(planned(hourly.replace(bounds, "TIME_IN_INTERVAL(__time, '2026-01-01/P3D')")).shape, shape)
  assert.equal(planned(hourly.replace(bounds, `((${bounds}) and __time < '2026-02-01')`)).shape, shape)
  assert.equal(planned(hourly.replace("'2026-01-02'", "'2026-01-03 05:00:00'")).shape, shape)
  for (const other of [
    hourly.replace('wiki', 'wiki2'),
    hourly.replace(' AS n', ' AS m'),
    hourly.replace('COUNT(*)', 'COUNT(1)'),
    hourly.replace('GROUP BY', "AND a = 'b' GROUP BY"),
    hourly.replace('GROUP BY', "AND a = 'b ' GROUP BY"),
    hourly.replace('ORDER BY 1', 'ORDER BY 1 DESC'),
    hourly.replace('PT1H', 'PT2H'),
  ]) {
    assert.notEqual(planned(other).shape, shape, other)
  }
  assert.notEqual(planned(hourly, { resultFormat: 'csv' }).shape, shape)
  assert.notEqual(planned(hourly, { header: true }).shape, shape)
  assert.equal(
    planned(hourly, { resultFormat: 'object', header: false, context: null, parameters: null }).shape,
    shape,
  )
  const search = planner(post({ query: hourly }, { search: 'a=1' }), now)
  assert.ok(!('bypass' in search) && search.shape !== shape)
  const slash = planner(post({ query: hourly }, { path: '/druid/v2/sql/' }), now)
  assert.ok(!('bypass' in slash) && slash.shape === shape)
})

test('a narrowed query is planned with the same shape and spans', () => {
  const instants = fc
    .integer({ min: 0, max: 20 * 24 * 60 })
    .map((minute) => Date.UTC(2026, 2, 1) + minute * 60_000)
  const zones = fc.constantFrom('UTC', 'America/New_York', 'Asia/Kolkata', '+05:30')
  fc.assert(
    fc.property(fc.uniqueArray(instants, { minLength: 2, maxLength: 8 }), zones, (ends, sqlTimeZone) => {
      const sorted = ends.toSorted((a, b) => a - b)
      const conditions = sorted.flatMap((from, i) => {
        const to = sorted[i + 1]
        return i % 2 === 1 || to === undefined
          ? []
          : [`TIMESTAMP_TO_MILLIS(__time) BETWEEN ${from} AND ${to - 1}`]
      })
      const query = `SELECT ${bucket} AS t, page FROM wiki WHERE a = 1 AND (${conditions.join(' OR ')}) GROUP BY 1, 2 ORDER BY 1, 2`
      const plan = planned(query, { context: { sqlTimeZone } })
      const again = planner(post(bodyOf(plan)), now)
      assert.ok(!('bypass' in again))
      assert.deepEqual([again.shape, again.spans, again.window], [plan.shape, plan.spans, plan.window])
    }),
  )
})

test('no text makes it throw, or take long', () => {
  const words = fc.constantFrom(
    ...`SELECT FROM WHERE GROUP BY ORDER HAVING AND OR NOT BETWEEN IN IS NULL LIKE CASE WHEN THEN END AS ( ) , . ; ? + - * / % = < >= <> || ' " -- /* */ __time wiki 1 2.5 'a' "b" TIMESTAMP DATE INTERVAL '1' DAY TIME_FLOOR ( __time , 'PT1H' ) CURRENT_TIMESTAMP TIME_SHIFT CAST FLOOR TO HOUR TIME_IN_INTERVAL SET`.split(
      ' ',
    ),
    bounds,
    bucket,
    hourly,
  )
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(words, { maxLength: 60 }).map((list) => list.join(' ')),
  )
  const json = fc.oneof(
    fc.json(),
    texts.map((query) => JSON.stringify({ query })),
    texts,
  )
  fc.assert(
    fc.property(json, texts, (body, query) => {
      planner(post(body), now)
      planner(post({ query: `${hourly} ${query}` }), now)
      planner(post({ query: filled(`SELECT ${bucket} AS t {w} AND ${query} GROUP BY 1`) }), now)
      planner(post(query, { headers: ['content-type', 'text/plain'] }), now)
    }),
    { numRuns: 200 },
  )
})

/** CPU time of this process: other load on the machine does not count. */
function cpuMsOf(action: () => void): number {
  const before = process.cpuUsage()
  action()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

test('no nesting makes it throw, or take long', () => {
  const nested = (count: number, before: string, behind: string, inner: string): string =>
    `${before.repeat(count)}${inner}${behind.repeat(count)}`
  const added = " + INTERVAL '0' DAY"
  const times = [
    nested(5_000, 'TIME_SHIFT(', ", 'PT0S', 1)", 'CURRENT_TIMESTAMP'),
    nested(5_000, 'CAST(', ' AS TIMESTAMP)', '__time'),
    nested(5_000, 'FLOOR(', ' TO HOUR)', "TIMESTAMP '2026-01-01'"),
    `CURRENT_TIMESTAMP${added.repeat(6_000)}`,
    nested(60, '(', `${added.repeat(100)})`, 'CURRENT_TIMESTAMP'),
    nested(90, 'TIME_SHIFT(', `${added.repeat(60)}, 'PT0S', 1)`, 'CURRENT_TIMESTAMP'),
    nested(99, 'TIME_SHIFT(', `${added.repeat(19)}, 'PT0S', 1)`, 'CURRENT_TIMESTAMP'),
  ]
  for (const time of times) {
    const cpu = cpuMsOf(() => {
      ask(filled(`SELECT ${bucket} AS t {w} AND __time >= ${time} GROUP BY 1`))
      ask(filled(`SELECT TIME_FLOOR(${time}, 'PT1H') AS t {w} GROUP BY 1`))
    })
    assert.ok(cpu < 2_000, `${cpu} ms for ${time.slice(0, 40)}`)
  }
})

test('long texts are read in a time that grows with their length', () => {
  const chains = [
    'a = 1 AND '.repeat(9_000),
    `(${"__time >= '2026-01-01' OR ".repeat(4_000)}TRUE) AND `,
    `${"__time < '2026-01-02' AND ".repeat(4_000)}`,
    'NOT '.repeat(20_000),
    `${'-'.repeat(1)}${' + '.repeat(30_000)}1 = 1 AND `,
    `a IN (${'1,'.repeat(50_000)}1) AND `,
    `${'CASE '.repeat(20_000)}`,
    `'${"''".repeat(50_000)}' = a AND `,
  ]
  for (const chain of chains) {
    const cpu = cpuMsOf(() => ask(`SELECT ${bucket} AS t FROM wiki WHERE ${chain} ${bounds} GROUP BY 1`))
    assert.ok(cpu < 2_000, `${cpu} ms for ${chain.slice(0, 20)}`)
  }
})

test('the memoised form of many long texts is not much longer than they are', () => {
  const collect = garbageCollector()
  const used = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = used()
  const own = createSqlPlanner({ maxBuckets: 10_000 })
  const since = "__time >= CAST(CURRENT_TIMESTAMP - INTERVAL '1' DAY AS DATE)"
  for (let i = 0; i < 200; i++) {
    const query = `SELECT ${bucket} AS t FROM wiki WHERE ${since} AND x IN (${'1,'.repeat(7_000)}${i}) GROUP BY 1`
    assert.ok(!('bypass' in own(post({ query }), now)))
  }
  const megabytes = (used() - before) / 2 ** 20
  assert.ok(megabytes < 40, `${megabytes} MiB for 3 MiB of text`)
  assert.ok(!('bypass' in own(post({ query: hourly }), now)))
})

test('a narrowed query has no limit, and is ordered by the bucket first', () => {
  const grouped = `SELECT page, ${bucket} AS t, COUNT(*) AS n FROM wiki WHERE ${bounds} GROUP BY 1, 2`
  const cases: readonly (readonly [query: string, narrowed: RegExp])[] = [
    [`${hourly} LIMIT 10`, /GROUP BY 1 ORDER BY 1 $/],
    [`${hourly} LIMIT 10;`, /GROUP BY 1 ORDER BY 1 ;$/],
    [grouped, /GROUP BY 1, 2 ORDER BY 2 $/],
    [`${grouped};`, /GROUP BY 1, 2 ORDER BY 2 ;$/],
    [`${grouped} -- all`, /GROUP BY 1, 2 ORDER BY 2 {2}-- all$/],
    [`${grouped} LIMIT 5`, /GROUP BY 1, 2 {2}ORDER BY 2 $/],
    [`${grouped} ORDER BY n DESC`, /GROUP BY 1, 2 {2}ORDER BY 2, 3 DESC $/],
    [
      `${grouped} ORDER BY COUNT(*) DESC NULLS LAST, "page" LIMIT 5 -- five`,
      / ORDER BY 2, 3 DESC, 1 {2}-- five$/,
    ],
    [`${grouped} HAVING n > 1 ORDER BY n, t DESC, page`, /HAVING n > 1 {2}ORDER BY 2, 3, 1 $/],
  ]
  for (const [query, narrowed] of cases) {
    const { query: text } = JSON.parse(bodyOf(planned(query))) as { query: string }
    assert.match(text, narrowed)
    assert.ok(!('bypass' in ask(text)), text)
  }
})

test('an answer that a limit cannot cut is the database’s own', () => {
  const day = { isVerbatim: true, isAsSent: true, limit: Number.POSITIVE_INFINITY, isUnlimited: false }
  const picked = ({ isVerbatim, isAsSent, limit, isUnlimited }: DruidPlan) => ({
    isVerbatim,
    isAsSent,
    limit,
    isUnlimited,
  })
  assert.deepEqual(picked(planned(`${hourly} LIMIT 24`)), day)
  assert.deepEqual(picked(planned(`${hourly} LIMIT 23`)), {
    ...day,
    isVerbatim: false,
    isAsSent: false,
    limit: 23,
  })
  const pages = `SELECT ${bucket} AS t, page, COUNT(*) AS n FROM wiki WHERE ${bounds} GROUP BY 1, 2`
  assert.deepEqual(picked(planned(pages)), day)
  const cut = { isVerbatim: false, isAsSent: false, limit: 50_000, isUnlimited: true }
  assert.deepEqual(picked(planned(`${pages} LIMIT 50000`)), cut)
  assert.deepEqual(picked(planned(`${pages} ORDER BY n LIMIT 50000`)), cut)
})

test('settings that make Druid cut in another way are not cut here', () => {
  const query = `SELECT ${bucket} AS t, page, COUNT(*) AS n FROM wiki WHERE ${bounds} GROUP BY 1, 2 ORDER BY n LIMIT 5`
  assert.equal(reasonOf(ask(query, { context: { forceLimitPushDown: true } })), 'limit')
  assert.equal(reasonOf(ask(query, { context: { minTopNThreshold: 5 } })), 'limit')
  assert.equal(reasonOf(ask(query, { context: { applyLimitPushDown: false } })), 'eligible')
  assert.equal(reasonOf(ask(query, { resultFormat: 'csv' })), 'not_decomposable')
})
