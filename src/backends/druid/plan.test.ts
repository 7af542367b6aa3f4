import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan, WireRequest } from '../backend.ts'
import type { DruidPlan } from './druid-plan.ts'
import { narrow } from './narrow.ts'
import { createPlanner, isDruidQuery } from './plan.ts'

const planner = createPlanner({ maxBuckets: 1000 })
const hourMs = 3_600_000
const first = Date.UTC(2026, 0, 1) / hourMs

const query = (intervals: unknown): string =>
  JSON.stringify({ queryType: 'timeseries', dataSource: 'wiki', granularity: 'hour', intervals })

const post = (body: string, changes: Partial<WireRequest> = {}): WireRequest => ({
  method: 'POST',
  path: '/druid/v2',
  search: '',
  headers: ['content-type', 'application/json'],
  body: Buffer.from(body),
  ...changes,
})

function planned(request: WireRequest): DruidPlan {
  const parsed = planner.parse(request)
  assert.ok(parsed !== undefined && !('bypass' in parsed), JSON.stringify(parsed))
  const plan = planner.plan(parsed, 0)
  assert.ok(!('bypass' in plan), JSON.stringify(plan))
  return plan
}

const typical = query(['2026-01-01T00:30/2026-01-01T04:10', '2026-01-01T07:00/2026-01-01T08:00'])

test('queries are POSTs to exactly four paths', () => {
  for (const path of ['/druid/v2', '/druid/v2/', '/druid/v2/sql', '/druid/v2/sql/']) {
    assert.ok(isDruidQuery('POST', path))
    assert.ok(!isDruidQuery('GET', path))
    assert.ok(!isDruidQuery('DELETE', path))
  }
  for (const path of [
    '/druid/v2/candidates',
    '/druid/v2/x',
    '/druid/v2/sql/task',
    '/druid/v2//',
    '/status',
  ]) {
    assert.ok(!isDruidQuery('POST', path))
    assert.equal(planner.parse(post(typical, { path })), undefined)
  }
})

test('both spellings of a path are the same question', () => {
  assert.equal(planned(post(typical)).shape, planned(post(typical, { path: '/druid/v2/' })).shape)
})

test('parameters in the URL belong to the question', () => {
  const shapes = ['', 'a=1', 'a=2'].map((search) => planned(post(typical, { search })).shape)
  assert.equal(new Set(shapes).size, 3)
})

test('headers and bodies that cannot be cached are passed on with a reason', () => {
  assert.deepEqual(planner.parse(post(typical, { headers: ['accept', 'application/x-jackson-smile'] })), {
    bypass: 'other_encoding',
    detail: 'Accept: Smile',
  })
  assert.deepEqual(planner.parse(post('{')), { bypass: 'malformed_request', detail: 'not JSON' })
})

const intervalsOf = ({ body }: WireRequest): readonly string[] =>
  (JSON.parse(Buffer.from(body).toString()) as { intervals: string[] }).intervals

test('the narrowed query has whole buckets, and parts of edges, all in one', () => {
  const plan = planned(post(typical))
  const ask = (...runs: [from: number, to: number][]) =>
    intervalsOf(
      narrow(
        plan,
        runs.map(([from, to]) => ({ from: first + from, to: first + to })),
      ),
    )
  const day = '2026-01-01T'
  assert.deepEqual(ask([1, 2]), [`${day}01:00:00.000Z/${day}02:00:00.000Z`])
  assert.deepEqual(ask([0, 2]), [`${day}00:30:00.000Z/${day}02:00:00.000Z`])
  assert.deepEqual(ask([0, 1], [4, 5]), [
    `${day}00:30:00.000Z/${day}01:00:00.000Z`,
    `${day}04:00:00.000Z/${day}04:10:00.000Z`,
  ])
  assert.deepEqual(ask([0, 1], [1, 2], [7, 8]), [
    `${day}00:30:00.000Z/${day}02:00:00.000Z`,
    `${day}07:00:00.000Z/${day}08:00:00.000Z`,
  ])
})

test('for the whole window, the narrowed query equals the client’s request', () => {
  const plan = planned(post(typical))
  const everything = [...plan.whole, ...(plan as Plan).edges!.buckets].sort((a, b) => a.from - b.from)
  assert.deepEqual(planned(narrow(plan, everything)).spans, plan.spans)
  assert.deepEqual(planned(narrow(plan, [plan.window])).spans, plan.spans)
})

test('everything but the body of the request stays', () => {
  const request = post(typical, { path: '/druid/v2/', search: 'a=1', headers: ['x', 'y'] })
  assert.deepEqual(
    { ...narrow(planned(request), [{ from: first, to: first + 1 }]), body: 0 },
    { ...request, body: 0 },
  )
})

test('a client whose buckets are all missing has its own request sent; errors then quote its own text', () => {
  const plan = planned(post(typical))
  const all = [...plan.whole, ...plan.edges!.buckets].sort((a, b) => a.from - b.from)
  assert.equal(narrow(plan, all), plan.request)
  assert.notEqual(narrow(plan, plan.whole), plan.request)
  const limited = planned(post(typical.replace('{', '{"limit":3,')))
  assert.notEqual(narrow(limited, all), limited.request)
  const sql = (bounds: string) => {
    const query = `SELECT FLOOR(__time TO HOUR) t, COUNT(*) FROM wiki WHERE ${bounds} GROUP BY 1 ORDER BY 1`
    return planned(post(JSON.stringify({ query }), { path: '/druid/v2/sql' }))
  }
  const fixed = sql("__time >= '2026-01-01' AND __time < '2026-01-02'")
  assert.equal(narrow(fixed, fixed.whole), fixed.request)
  const relative = sql("__time >= CURRENT_TIMESTAMP - INTERVAL '6' HOUR AND __time < CURRENT_TIMESTAMP")
  assert.notEqual(narrow(relative, relative.whole), relative.request, 'its clock is pinned')
})
