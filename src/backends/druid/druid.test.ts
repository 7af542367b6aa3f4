import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printRows, type RowStyle, rowStyles, rowsIn } from '../../../test/rigs/druid-rows.ts'
import type { Intervals } from '../../core/interval.ts'
import type { Span } from '../../testing/backend-runs.ts'
import { pick, type Random, wholeNumber } from '../../testing/random.ts'
import { testBackend } from '../../testing/test-backend.ts'
import type { Plan, WireRequest } from '../backend.ts'
import type { DruidPlan } from './druid-plan.ts'
import { druid } from './index.ts'
import { condense } from './intervals.ts'

const backend = druid({ maxBuckets: 11_000 })

const post = (body: object, path = '/druid/v2'): WireRequest => ({
  method: 'POST',
  path,
  search: '',
  headers: ['content-type', 'application/json'],
  body: Buffer.from(JSON.stringify(body)),
})

const count = [{ type: 'count', name: 'n' }]
const timeseries = { queryType: 'timeseries', dataSource: 'wiki', granularity: 'hour', aggregations: count }
const groupBy = { ...timeseries, queryType: 'groupBy', dimensions: ['page', 'tags'] }
const topN = { ...timeseries, queryType: 'topN', dimension: 'page', metric: 'n', threshold: 5 }

/** The query, and the style of its answer. */
interface QueryCase {
  readonly style: string
  readonly query: Readonly<Record<string, unknown>> & { readonly context?: object }
}

const nativeQuestions: readonly QueryCase[] = [
  { query: timeseries, style: 'timeseries' },
  { query: { ...timeseries, descending: true }, style: 'timeseries' },
  { query: { ...timeseries, limit: 3 }, style: 'timeseries' },
  { query: { ...timeseries, limit: 7, descending: 'true' }, style: 'timeseries' },
  {
    query: { ...timeseries, context: { serializeDateTimeAsLong: true } },
    style: 'timeseries with long timestamps',
  },
  { query: topN, style: 'topN, in one zone or the other' },
  { query: groupBy, style: 'groupBy in a zone' },
  { query: { ...groupBy, context: { resultAsArray: true } }, style: 'groupBy as arrays' },
]

const timeFirst =
  'SELECT {bucket} AS t, page, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 1, 2'
const newestFirst = timeFirst.replace('ORDER BY 1', 'ORDER BY 1 DESC')
const timeLast =
  'SELECT page, COUNT(*) AS n, {bucket} AS "the ""time""" FROM wiki WHERE {time} GROUP BY 1, 3 ORDER BY 3, 1'
const twoColumns = 'SELECT page, {bucket} AS t FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 2, 1'
const allHeaders = { header: true, typesHeader: true, sqlTypesHeader: true }

const sqlQuestions: readonly QueryCase[] = [
  { query: { query: timeFirst }, style: 'SQL objects' },
  { query: { query: newestFirst }, style: 'SQL objects' },
  { query: { query: timeLast, header: true }, style: 'SQL objects with a header, the time last' },
  {
    query: { query: twoColumns, resultFormat: 'array', ...allHeaders },
    style: 'SQL arrays with all headers',
  },
  { query: { query: timeFirst, resultFormat: 'objectLines' }, style: 'SQL object lines' },
  {
    query: { query: newestFirst, resultFormat: 'arrayLines', header: true },
    style: 'SQL array lines with a header',
  },
  { query: { query: timeFirst, resultFormat: 'csv' }, style: 'SQL csv' },
]

const zoned = (period: string, timeZone: string) => ({
  granularity: { type: 'period', period, timeZone },
  bucket: `TIME_FLOOR(__time, '${period}', NULL, '${timeZone}')`,
})

const buckets = [
  { granularity: 'hour', bucket: 'FLOOR(__time TO HOUR)', stepMs: 3_600_000 },
  { granularity: 'minute', bucket: "TIME_FLOOR(__time, 'PT1M')", stepMs: 60_000 },
  { ...zoned('PT45M', 'Asia/Kathmandu'), stepMs: 2_700_000 },
  { ...zoned('P1D', 'America/New_York'), stepMs: 86_400_000 },
  { ...zoned('P1M', 'Europe/Berlin'), stepMs: 30 * 86_400_000 },
]

/** One to four spans; ends are as likely as not within a bucket, and two may lie in one. */
function drawSpans(random: Random, stepMs: number): Span[] {
  const base = Date.UTC(2026, 2, 1) + wholeNumber(random, 0, 40) * 86_400_000
  const spans: Span[] = []
  let at = base
  for (let left = wholeNumber(random, 1, 4); left > 0; left--) {
    const from = random() < 0.5 ? at : at + wholeNumber(random, 0, stepMs)
    const length = stepMs * wholeNumber(random, 0, 6) + (random() < 0.5 ? 0 : wholeNumber(random, 0, stepMs))
    spans.push({ from, to: from + Math.max(1, length) })
    at = spans.at(-1)!.to + pick(random, [0, 1, Math.floor(stepMs / 3), stepMs, 3 * stepMs])
  }
  return spans
}

const text = ({ from, to }: Span): string => `${new Date(from).toISOString()}/${new Date(to).toISOString()}`

/** The style stands in the context, which belongs to the question. */
function nativeRequest(random: Random): WireRequest {
  const { granularity, stepMs } = pick(random, buckets)
  const { query, style } = pick(random, nativeQuestions)
  const list = drawSpans(random, stepMs).map(text)
  const intervals = pick<unknown>(random, [list, list.join(','), { intervals: list }])
  return post({ ...query, granularity, intervals, context: { ...query.context, style } })
}

const condition = ({ from, to }: Span): string =>
  `(__time >= MILLIS_TO_TIMESTAMP(${from}) AND __time < MILLIS_TO_TIMESTAMP(${to}))`

function sqlRequest(random: Random): WireRequest {
  const { bucket, stepMs } = pick(random, buckets)
  const { query, style } = pick(random, sqlQuestions)
  const [first, ...others] = drawSpans(random, stepMs)
  const time = [first!, ...(others.length > 0 ? others : [first!])].map(condition).join(' OR ')
  const written = String(query['query']).replaceAll('{bucket}', bucket).replace('{time}', `(${time})`)
  return post({ ...query, query: written, context: { style } }, '/druid/v2/sql')
}

interface Body {
  readonly intervals?: string | readonly string[] | { readonly intervals: readonly string[] }
  readonly query?: string
  readonly context: { readonly style: string }
}

const bodyOf = ({ body }: WireRequest): Body => JSON.parse(Buffer.from(body).toString()) as Body

function spans(request: WireRequest): readonly Span[] {
  const { intervals = [], query } = bodyOf(request)
  if (query !== undefined) {
    const instants = [...query.matchAll(/MILLIS_TO_TIMESTAMP\((\d+)\)/g)].map(([, ms]) => Number(ms))
    const pairs = Array.from({ length: instants.length / 2 }, (_, i) => instants.slice(2 * i))
    return condense(pairs.map(([from, to]) => ({ from: from!, to: to! })))
  }
  const some = typeof intervals === 'string' ? intervals.split(',') : intervals
  return condense(
    ('intervals' in some ? some.intervals : some).map((interval) => {
      const [from, to] = interval.split('/').map((instant) => Date.parse(instant))
      return { from: from!, to: to! }
    }),
  )
}

const styleOf = ({ request }: Plan): RowStyle =>
  rowStyles.find(({ name }) => name === bodyOf(request).context.style)!

function rowsOf(world: number, plan: Plan, intervals: Intervals): string[] {
  const { grid, isDescending } = plan as DruidPlan
  return rowsIn({ style: styleOf(plan), world, grid, isDescending }, intervals)
}

const typical = { ...timeseries, intervals: '2026-03-06/2026-03-07' }
const sqlOf = (query: string, more: object = {}) => post({ query, ...more }, '/druid/v2/sql')
const hours = (from: string, to: string) =>
  `SELECT FLOOR(__time TO HOUR) AS t, COUNT(*) AS n FROM wiki WHERE __time >= '${from}' AND __time < '${to}' GROUP BY 1`

testBackend({
  backend,
  now: Date.UTC(2027, 0),
  request: (random) => (random() < 0.5 ? nativeRequest(random) : sqlRequest(random)),
  spans,
  answer: (world, plan, intervals) => printRows(styleOf(plan), rowsOf(world, plan, intervals)),
  direct(world, plan) {
    const { limit, whole, edges } = plan as DruidPlan
    const all = [...whole, ...(edges?.buckets ?? [])].toSorted((a, b) => a.from - b.from)
    return printRows(styleOf(plan), rowsOf(world, plan, all).slice(0, limit))
  },
  rounds: 500,
  equivalent: [
    [post(typical), post({ ...typical, intervals: ['2026-03-01T00:30/P1D', '2026-03-08/2026-03-09'] })],
    [post(typical), post(Object.fromEntries(Object.entries(typical).reverse()))],
    [post(typical), post({ ...typical, context: { queryId: 'a', priority: 3, useCache: false } })],
    [post(typical), post({ ...typical, dataSource: { type: 'table', name: 'wiki' }, granularity: 'HOUR' })],
    [post(typical), post({ ...typical, descending: 'false', limit: 0 })],
    [sqlOf(hours('2026-03-06', '2026-03-07')), sqlOf(hours('2026-03-01 00:20:00', '2026-03-03'))],
    [
      sqlOf(hours('2026-03-06', '2026-03-07')),
      sqlOf(hours('2026-03-06', '2026-03-07').replaceAll(' ', '\n')),
    ],
  ],
  different: [
    [post(typical), post({ ...typical, dataSource: 'tiny' })],
    [post(typical), post({ ...typical, granularity: 'minute' })],
    [
      post(typical),
      post({ ...typical, granularity: { type: 'period', period: 'PT1H', timeZone: 'Asia/Kolkata' } }),
    ],
    [post(typical), post({ ...typical, descending: true })],
    [post(typical), post({ ...typical, limit: 5 })],
    [post(typical), post({ ...typical, context: { skipEmptyBuckets: true } })],
    [post(typical), post({ ...typical, context: { unknown: 1 } })],
    [post(typical), post({ ...typical, aggregations: [...count, { ...count[0], name: 'm' }] })],
    [
      post({ ...topN, intervals: typical.intervals }),
      post({ ...topN, threshold: 6, intervals: typical.intervals }),
    ],
    [sqlOf(hours('2026-03-06', '2026-03-07')), sqlOf(hours('2026-03-06', '2026-03-07'), { header: true })],
    [
      sqlOf(hours('2026-03-06', '2026-03-07')),
      sqlOf(hours('2026-03-06', '2026-03-07'), { resultFormat: 'csv' }),
    ],
    [
      sqlOf(hours('2026-03-06', '2026-03-07')),
      sqlOf(hours('2026-03-06', '2026-03-07'), { context: { sqlTimeZone: 'Asia/Kolkata' } }),
    ],
  ],
})

test('only POST to the two endpoints is claimed', () => {
  for (const path of ['/druid/v2', '/druid/v2/', '/druid/v2/sql', '/druid/v2/sql/']) {
    assert.ok(backend.claims('POST', path))
    assert.ok(!backend.claims('GET', path))
  }
  for (const path of [
    '/druid/v2/candidates',
    '/druid/v2/sql/avatica',
    '/druid/v2/sql/statements',
    '/status',
  ]) {
    assert.ok(!backend.claims('POST', path))
  }
})
