import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Intervals } from '../../core/interval.ts'
import type { Span } from '../../testing/backend-runs.ts'
import { printRows, type RowStyle, rowStyles, rowsIn } from '../../testing/druid-rows.ts'
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

/** What is asked, and in which of the styles it is answered. */
const questions: readonly (readonly [query: object, style: string])[] = [
  [timeseries, 'timeseries'],
  [{ ...timeseries, descending: true }, 'timeseries'],
  [{ ...timeseries, limit: 3 }, 'timeseries'],
  [{ ...timeseries, limit: 7, descending: 'true' }, 'timeseries'],
  [{ ...timeseries, context: { serializeDateTimeAsLong: true } }, 'timeseries with long timestamps'],
  [topN, 'topN, in one zone or the other'],
  [groupBy, 'groupBy in a zone'],
  [{ ...groupBy, context: { resultAsArray: true } }, 'groupBy as arrays'],
]

const granularities = [
  { granularity: 'hour', stepMs: 3_600_000 },
  { granularity: 'minute', stepMs: 60_000 },
  { granularity: { type: 'duration', duration: 45_000, origin: '2026-01-01T00:00:10Z' }, stepMs: 45_000 },
  { granularity: { type: 'period', period: 'P1D', timeZone: 'America/New_York' }, stepMs: 86_400_000 },
  { granularity: { type: 'period', period: 'P1M', timeZone: 'Europe/Berlin' }, stepMs: 30 * 86_400_000 },
] as const

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

function request(random: Random): WireRequest {
  const { granularity, stepMs } = pick(random, granularities)
  const [query] = pick(random, questions)
  const intervals = drawSpans(random, stepMs).map(text)
  return post({
    ...query,
    granularity,
    intervals: pick(random, [intervals, intervals.join(','), { intervals }]),
  })
}

function spans({ body }: WireRequest): readonly Span[] {
  const { intervals } = JSON.parse(Buffer.from(body).toString()) as { intervals: unknown }
  const list =
    typeof intervals === 'string'
      ? intervals.split(',')
      : ((intervals as { intervals?: string[] }).intervals ?? intervals)
  return condense(
    (list as string[]).map((interval) => {
      const [from, to] = interval.split('/').map((instant) => Date.parse(instant))
      return { from: from!, to: to! }
    }),
  )
}

function styleOf({ request: { body } }: Plan): RowStyle {
  const asked = JSON.parse(Buffer.from(body).toString()) as { queryType: string; context?: object }
  const [, name] = questions.find(
    ([query]) =>
      (query as typeof asked).queryType === asked.queryType &&
      JSON.stringify((query as typeof asked).context) === JSON.stringify(asked.context),
  )!
  return rowStyles.find((style) => style.name === name)!
}

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
  request,
  spans,
  answer: (world, plan, intervals) => printRows(styleOf(plan), rowsOf(world, plan, intervals)),
  direct(world, plan) {
    const { limit, whole, edges } = plan as DruidPlan
    const all = [...whole, ...(edges?.buckets ?? [])].toSorted((a, b) => a.from - b.from)
    return printRows(styleOf(plan), rowsOf(world, plan, all).slice(0, limit))
  },
  rounds: 300,
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
