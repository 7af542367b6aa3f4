import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { getRange as get, postRange as post } from '../../../test/rigs/range-requests.ts'
import type { Plan, WireRequest } from '../backend.ts'
import type { PromqlBypass } from '../matrix/reasons.ts'
import { createPlanner } from './plan.ts'

const path = '/api/v1/query_range'
const now = 1_700_000_000_000
const dayMs = 86_400_000
const planner = createPlanner({ settledAgeMs: dayMs, maxBuckets: 11_001 })

type Parameters = Readonly<Record<string, string>>
const typical: Parameters = { query: 'up', start: '1000', end: '1600', step: '60' }

function planOf(request: WireRequest): Plan | PromqlBypass | undefined {
  const query = planner.parse(request)
  return query === undefined || 'bypass' in query ? query : planner.plan(query, now)
}

function planned(request: WireRequest): Plan {
  const plan = planOf(request)
  assert.ok(plan !== undefined && !('bypass' in plan), JSON.stringify(plan))
  return plan
}

const encode = (parameters: Parameters): string => new URLSearchParams(parameters).toString()
const ask = (changes: Parameters): WireRequest => get(encode({ ...typical, ...changes }))
const shapeOf = (changes: Parameters): string => planned(ask(changes)).shape

function reasonOf(changes: Parameters): string | undefined {
  const plan = planOf(ask(changes))
  return plan !== undefined && 'bypass' in plan ? plan.bypass : undefined
}

test('a plan has a readable shape, the grid through its start, a window and its metrics', () => {
  const request = ask({
    query: 'sum(rate(x_total[5m]))',
    start: '1010',
    timeout: '30s',
    lookback_delta: '5m',
  })
  assert.deepEqual(planOf(request), {
    text: 'sum(rate(x_total[5m]))',
    shape: '["/api/v1/query_range","sum(rate(x_total[5m]))",60000,["lookback_delta","5m"]]',
    grid: { kind: 'point', step: 60_000, origin: 50_000 },
    window: { from: 16, to: 26 },
    whole: [{ from: 16, to: 26 }],
    asked: [{ from: 1_010_000, to: 1_600_000 }],
    sources: ['x_total'],
    knowsAllSources: true,
    lookbackMs: 300_000,
    terms: '30s',
    isVerbatim: true,
    request,
  })
})

test('only GET and POST to exactly this path are range queries', () => {
  assert.equal(planner.parse({ ...ask({}), path: '/api/v1/query' }), undefined)
  assert.equal(planner.parse({ ...ask({}), path: `${path}/` }), undefined)
  assert.equal(planner.parse({ ...ask({}), method: 'OPTIONS' }), undefined)
  assert.equal(planner.parse({ ...ask({}), method: 'HEAD' }), undefined)
})

test('a path with something before it is not ours: routes take their prefix off first', () => {
  assert.notEqual(planner.parse(ask({})), undefined)
  assert.equal(planner.parse({ ...ask({}), path: `/prom${path}` }), undefined)
})

for (const name of ['query', 'start', 'end', 'step']) {
  test(`without ${name} the database explains`, () =>
    assert.equal(reasonOf({ [name]: '' }), 'missing_parameter'))
}

test('malformed forms and refused ranges are bypassed', () => {
  assert.deepEqual(planOf(get('query=up;x')), {
    bypass: 'malformed_request',
    detail: 'a semicolon or an unescaped character beyond ASCII',
  })
  assert.equal(reasonOf({ end: '999' }), 'invalid_parameter')
  assert.equal(reasonOf({ step: '0.0005' }), 'invalid_parameter')
})

test('more buckets than the limit are bypassed', () => {
  const small = createPlanner({ settledAgeMs: 0, maxBuckets: 11 })
  const query = (end: string) => {
    const parsed = small.parse(ask({ end }))
    assert.ok(parsed !== undefined && !('bypass' in parsed))
    return small.plan(parsed, now)
  }
  assert.ok(!('bypass' in query('1600')))
  assert.deepEqual(query('1660'), { bypass: 'too_many_buckets' })
})

// The rows of the eligibility table that are decided by parameters, or by parameters and time.
test('@ an old time is eligible', () =>
  assert.equal(reasonOf({ query: `x @ ${(now - dayMs) / 1000}` }), undefined))
test('@ a recent time is not', () => {
  assert.equal(reasonOf({ query: `x @ ${(now - dayMs) / 1000 + 0.001}` }), 'recent_at_modifier')
})
test('@ a future time is not', () =>
  assert.equal(reasonOf({ query: 'x @ 9999999999' }), 'recent_at_modifier'))
test('limit=N truncates the whole answer', () => assert.equal(reasonOf({ limit: '5' }), 'limit'))
test('an odd limit is for the database to refuse', () => assert.equal(reasonOf({ limit: '-0' }), 'limit'))
test('limit=0 is no limit and the same question', () => assert.equal(shapeOf({ limit: '0' }), shapeOf({})))
test('timeout is passed on and not part of the question', () => {
  assert.equal(shapeOf({ timeout: '30s' }), shapeOf({}))
  assert.equal(planned(ask({ timeout: '30s' })).request.search.includes('timeout=30s'), true)
})
test('a timeout that the database refuses must fail', () => {
  assert.equal(reasonOf({ timeout: 'soon' }), 'invalid_parameter')
  assert.equal(reasonOf({ timeout: '0' }), 'invalid_parameter')
})
test('lookback_delta changes values', () => {
  assert.notEqual(shapeOf({ lookback_delta: '1m' }), shapeOf({}))
  assert.equal(shapeOf({ lookback_delta: '' }), shapeOf({}))
})
test('stats belong to one execution', () => {
  assert.equal(reasonOf({ stats: 'all' }), 'stats')
  assert.equal(reasonOf({ stats: 'false' }), 'stats')
  assert.equal(shapeOf({ stats: '' }), shapeOf({}))
})

// The traps that other caches fell into, as far as planning can.
test('trap: the phase is in the grid', () => {
  assert.notDeepEqual(planned(ask({ start: '1001' })).grid, planned(ask({})).grid)
  assert.deepEqual(planned(ask({ start: '1060' })).grid, planned(ask({})).grid)
})
test('trap: the last grid step is not lost', () => {
  assert.deepEqual(planned(ask({ start: '3', end: '23', step: '10' })).window, { from: 0, to: 3 })
  assert.deepEqual(planned(ask({ start: '3', end: '22.999', step: '10' })).window, { from: 0, to: 2 })
})
test('trap: start == end is one bucket', () => {
  assert.deepEqual(planned(ask({ end: '1000' })).window, { from: 16, to: 17 })
})
test('trap: an unaligned range stays where it is', () => {
  assert.equal(planned(ask({ start: '1000.007' })).grid.origin, 40_007)
})
test('trap: times below a millisecond are truncated, not rounded', () => {
  assert.equal(planned(ask({ start: '1970-01-01T00:16:40.007999Z' })).grid.origin, 40_007)
})
test('trap: unknown parameters are part of the question, with all their values in order', () => {
  assert.notEqual(shapeOf({ dedup: 'true' }), shapeOf({}))
  assert.notEqual(shapeOf({ dedup: 'true' }), shapeOf({ dedup: 'false' }))
  assert.notEqual(shapeOf({ 'extra_filters[]': '{a="b"}' }), shapeOf({}))
  const twice = (first: string, second: string) =>
    planned(get(`${encode(typical)}&x=${first}&x=${second}`)).shape
  assert.notEqual(twice('1', '2'), twice('2', '1'))
  assert.notEqual(twice('1', '2'), shapeOf({ x: '1' }))
})
test('trap: @ start() and @ end() are bypassed', () =>
  assert.equal(reasonOf({ query: 'x @ end()' }), 'depends_on_range'))
test('trap: duration expressions are bypassed', () => {
  assert.equal(reasonOf({ query: 'rate(x[step() * 4])' }), 'depends_on_range')
})
test('trap: white space is part of the text, for the positions in annotations', () => {
  assert.notEqual(shapeOf({ query: 'rate( x[5m])' }), shapeOf({ query: 'rate(x[5m])' }))
})

test('GET, POST, parameter order, step spelling and ignored repetitions do not show', () => {
  const expected = shapeOf({ step: '60', a: '1', b: '2' })
  const body = 'b=2&step=1m&query=up&a=1&end=1600.0'
  assert.equal(planned(post(body, 'query=ignored&start=1000&step=7')).shape, expected)
  assert.equal(planned(get(`start=1000&${body}&timeout=1&step=9`)).shape, expected)
  assert.equal(planned(post('', `start=1000&${body}`)).shape, expected)
})

const name = fc.constantFrom('a', 'b', 'a"', '[', ',')
const value = fc.constantFrom('', '1', '","', '1,2', '"],["b')
const question = fc.record({
  query: fc.constantFrom('up', 'up ', 'rate(x[5m])'),
  stepMs: fc.constantFrom(1000, 60_000),
  extras: fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key }),
})
type RangeCase = { query: string; stepMs: number; extras: [string, string][] }

const spell = ({ query, stepMs, extras }: RangeCase, reverse: boolean): [string, string][] => {
  const pairs: [string, string][] = [
    ['query', query],
    ['step', reverse ? `${stepMs}ms` : `${stepMs / 1000}`],
    ...extras,
  ]
  return [['start', '0'], ['end', '60'], ...(reverse ? pairs.reverse() : pairs)]
}
const canonical = (asked: RangeCase): string =>
  JSON.stringify([asked.query, asked.stepMs, [...asked.extras].sort(([a], [b]) => (a < b ? -1 : 1))])

test('equal shape if and only if equal question', () => {
  fc.assert(
    fc.property(question, question, (one, other) => {
      const left = planned(get(new URLSearchParams(spell(one, false)).toString())).shape
      const right = planned(post(new URLSearchParams(spell(other, true)).toString())).shape
      assert.equal(left === right, canonical(one) === canonical(other))
    }),
  )
})

test('parse and plan never throw', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...Object.values(typical)))
  const parameters = fc.record({ query: text, start: text, end: text, step: text, limit: text, [`x`]: text })
  fc.assert(
    fc.property(parameters, fc.double(), (asked, time) => {
      const query = planner.parse(get(encode(asked)))
      if (query !== undefined && !('bypass' in query)) planner.plan(query, time)
    }),
  )
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.string(),
      (body, search) => void planOf(post(body, search)),
    ),
  )
})

test('label functions are eligible from 3.9 on, where label sets are checked step by step', () => {
  const query = planner.parse(ask({ query: 'sum(label_replace(up, "a", "$1", "b", "(.*)"))' }))
  assert.ok(query !== undefined && !('bypass' in query))
  const reasonIn = (version?: readonly number[]) => {
    const flavour = version && { isKnown: true, label: 'Prometheus', version }
    const plan = planner.plan(query, now, flavour)
    return 'bypass' in plan ? plan.bypass : undefined
  }
  assert.equal(reasonIn(), 'unsafe_function')
  assert.equal(reasonIn([2, 42]), 'unsafe_function')
  assert.equal(reasonIn([3, 8]), 'unsafe_function')
  assert.equal(reasonIn([3, 9]), undefined)
  assert.equal(reasonIn([4, 0]), undefined)
})

test('before 3.9 they are eligible where they cannot make series equal, or where the operator says so', () => {
  const planIn = (planned: string, assume?: { readonly mergedLabels: boolean }) => {
    const planning = createPlanner({ settledAgeMs: 1, maxBuckets: 11_001, ...(assume && { assume }) })
    const query = planning.parse(ask({ query: planned }))
    assert.ok(query !== undefined && !('bypass' in query))
    return planning.plan(query, now, { isKnown: true, label: 'Prometheus', version: [3, 5] })
  }
  const any = 'label_replace(up, "a", "$1", "b", "(.*)")'
  const closed = 'label_replace(sum by (b) (up), "a", "$1", "b", "(.*)")'
  const named = (plan: ReturnType<typeof planIn>) => ('bypass' in plan ? plan.bypass : plan.exceptions)
  assert.equal(named(planIn(any)), 'unsafe_function')
  assert.equal(named(planIn(any, { mergedLabels: false })), 'unsafe_function')
  assert.deepEqual(named(planIn(any, { mergedLabels: true })), ['assume.mergedLabels'])
  assert.equal(named(planIn(closed)), undefined)
  assert.equal(named(planIn(closed, { mergedLabels: true })), undefined, 'nothing was assumed')
})
