import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startOf } from '../../core/grid.ts'
import type { Plan, WireRequest } from '../backend.ts'
import type { PromqlBypass } from '../matrix/reasons.ts'
import { createPlanner } from './plan.ts'

const now = 1_700_000_000_000
const planner = createPlanner({ settledAgeMs: 86_400_000, maxBuckets: 11_001 })

const request = (parameters: Record<string, string>): WireRequest => ({
  method: 'GET',
  path: '/api/v1/query_range',
  search: new URLSearchParams({ query: 'x[5m]', ...parameters }).toString(),
  headers: [],
  body: new Uint8Array(),
})

function planned(parameters: Record<string, string>): Plan | PromqlBypass {
  const query = planner.parse(request(parameters))
  assert.ok(query !== undefined)
  return 'bypass' in query ? query : planner.plan(query, now)
}

/** A window of which the instants are seconds relative to now. */
function windowOf(startSeconds: number, endSeconds: number, step: string): Plan {
  const [start, end] = [startSeconds, endSeconds].map((at) => String(now / 1000 + at))
  const plan = planned({ start: start!, end: end!, step })
  assert.ok(!('bypass' in plan), JSON.stringify(plan))
  return plan
}

/** First and last instants, in seconds relative to now. */
const spansOf = ({ grid }: Plan, runs: Plan['whole']): number[][] =>
  runs.map(({ from, to }) => [from, to - 1].map((bucket) => (startOf(grid, bucket) - now) / 1000))

test('points younger than the latency offset are not stored, and an older one is fetched with them', () => {
  const plan = windowOf(-600, 0, '15')
  assert.deepEqual(spansOf(plan, plan.whole), [[-600, -75]])
  assert.deepEqual(spansOf(plan, plan.edges!.buckets), [[-60, 0]])
})

test('a window that ends before has no live part', () => {
  const plan = windowOf(-600, -75, '15')
  assert.deepEqual(spansOf(plan, plan.whole), [[-600, -75]])
  assert.equal(plan.edges, undefined)
})

test('a window inside the live part is fetched unchanged, and shared only by equal requests', () => {
  const plan = windowOf(-45, 30, '15')
  assert.deepEqual(plan.whole, [])
  assert.deepEqual(spansOf(plan, plan.edges!.buckets), [[-45, 30]])
  assert.notEqual(plan.edges!.parts, windowOf(-30, 30, '15').edges!.parts)
  assert.notEqual(plan.edges!.parts, windowOf(-600, 30, '15').edges!.parts)
})

test('viewers of windows of unequal length that end alike share the live part', () => {
  assert.equal(windowOf(-600, 0, '15').edges!.parts, windowOf(-900, 0, '15').edges!.parts)
  assert.notEqual(windowOf(-600, 0, '15').edges!.parts, windowOf(-600, 15, '15').edges!.parts)
})

test('from a step of one minute on no point is adjusted', () => {
  assert.equal(windowOf(-600, 0, '60').edges, undefined)
  assert.ok(windowOf(-600, 0, '59').edges !== undefined)
})

test('nocache is no part of the question, every other parameter is', () => {
  const times = { start: '1600000000', end: '1600000600', step: '60' }
  const shape = (more: Record<string, string> = {}) => (planned({ ...times, ...more }) as Plan).shape
  assert.equal(shape({ nocache: '1' }), shape())
  assert.equal(shape({ nocache: '0', timeout: '5s' }), shape())
  for (const name of ['extra_label', 'extra_filters[]', 'round_digits', 'max_lookback', 'other']) {
    assert.notEqual(shape({ [name]: '1' }), shape(), name)
  }
})

const times = { start: '1600000000', end: '1600000600', step: '60' }
const refused: Record<string, readonly [Record<string, string>, PromqlBypass['bypass']]> = {
  'a trace': [{ trace: '1' }, 'stats'],
  'a latency offset': [{ latency_offset: '1s' }, 'invalid_parameter'],
  'a year': [{ start: '2020', end: '1600000600' }, 'invalid_parameter'],
  'a short number': [{ start: '1000', end: '1600' }, 'invalid_parameter'],
  'less than a millisecond': [{ start: '1600000000.0004' }, 'invalid_parameter'],
  'an exponent': [{ start: '1.6e9' }, 'invalid_parameter'],
  'a relative time': [{ start: '-1h' }, 'invalid_parameter'],
  'milliseconds since 1970': [{ start: '1600000000000' }, 'invalid_parameter'],
  'a step that becomes another one': [{ step: '1.001' }, 'invalid_parameter'],
  'no step': [{ step: '' }, 'missing_parameter'],
  'a timeout that is none': [{ timeout: 'x' }, 'invalid_parameter'],
}
for (const [name, [parameters, reason]] of Object.entries(refused)) {
  test(`bypassed: ${name}`, () => {
    const plan = planned({ ...times, ...parameters })
    assert.equal('bypass' in plan && plan.bypass, reason)
  })
}

test('times and steps are read as Prometheus reads them', () => {
  const spelled = { start: '2020-09-13T12:26:40Z', end: '2020-09-13T14:36:40.000+02:00', step: '1m' }
  assert.deepEqual((planned(spelled) as Plan).window, (planned(times) as Plan).window)
  for (const step of ['0.5', '500ms', '15.001', '1h30m', '7.5']) {
    assert.ok(!('bypass' in planned({ ...times, step })), step)
  }
})
