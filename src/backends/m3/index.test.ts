import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testFamilyMember } from '../../../test/rigs/family-suite.ts'
import { getRange, postRange } from '../../../test/rigs/range-requests.ts'
import type { Plan, WireRequest } from '../backend.ts'
import { flavour } from './flavour.ts'
import { m3 } from './index.ts'

const backend = m3({ settledAgeMs: 86_400_000, maxBuckets: 11_001 })

testFamilyMember({ backend, headers: ['m3-limit-max-series', 'm3-storage-policy'], ending: '\n' })

test('it is known by its namespaces, if it has one: which of several answers depends on the range', () => {
  const registry = (...names: string[]) =>
    JSON.stringify({ registry: { namespaces: Object.fromEntries(names.map((name) => [name, {}])) } })
  assert.deepEqual(flavour.read(200, registry('default')), { isKnown: true, label: 'M3' })
  const several = flavour.read(200, registry('default', 'aggregated_1m'))
  assert.deepEqual(
    [several.isKnown, several.label],
    [false, 'M3 with 2 namespaces: which of them answers depends on the range'],
  )
  assert.equal(flavour.read(404, '404 page not found').isUnreadable, true)
  assert.equal(flavour.read(200, '{"status":"success","data":{"version":"3.5.0"}}').isKnown, false)
})

function planned(request: WireRequest): Plan {
  const query = backend.parse(request)
  assert.ok(query !== undefined && !('bypass' in query))
  const plan = backend.plan(query, 1_800_000_000_000)
  assert.ok(!('bypass' in plan), JSON.stringify(plan))
  return plan
}

const ending = (end: string) => `query=up&start=1600000000&end=${end}&step=60`

test('a step at the end of a request is a part of a bucket, and is fetched with the same end', () => {
  const plan = planned(getRange(ending('1600000600')))
  const { from, to } = plan.window
  assert.deepEqual(plan.whole, [{ from, to: to - 1 }])
  assert.deepEqual(plan.edges!.buckets, [{ from: to - 1, to }])
  const search = (intervalFrom: number, intervalTo: number) =>
    backend.narrow(plan, [{ from: intervalFrom, to: intervalTo }]).search
  assert.equal(search(to - 1, to), 'query=up&start=1600000600&end=1600000600&step=60')
  assert.equal(search(from, to), 'query=up&start=1600000000&end=1600000600&step=60')
  // A sample at the last step of a part is read only if the part goes on.
  assert.equal(search(from, from + 2), 'query=up&start=1600000000&end=1600000060.001&step=60')
  const posted = backend.narrow({ ...plan, request: postRange(ending('1600000600')) }, [
    { from, to: from + 1 },
  ])
  assert.equal(posted.search, '')
  assert.equal(Buffer.from(posted.body).toString(), 'query=up&start=1600000000&end=1600000000.001&step=60')
})

test('a request that ends between two steps has no such part, and one of a single step nothing else', () => {
  const between = planned(getRange(ending('1600000601')))
  assert.deepEqual([between.edges, between.whole], [undefined, [between.window]])
  const single = planned(getRange(ending('1600000000')))
  assert.deepEqual([single.whole, single.edges!.buckets], [[], [single.window]])
})

test('a purge reaches as far as the lookback of a request', () => {
  const lookback = (more: string) => planned(getRange(`${ending('1600000601')}${more}`)).lookbackMs
  assert.equal(lookback(''), 300_000)
  assert.equal(lookback('&lookback=1h'), 3_600_000)
  assert.equal(lookback('&lookback_delta=1s&lookback=1h'), 3_600_000)
  assert.equal(lookback('&lookback=step'), Number.POSITIVE_INFINITY)
})

// As M3 1.5.0 sends it with every answer.
const unlimited = '{"Series":1,"Datapoints":5,"TotalSeries":1,"Limited":false}'
const headers: [name: string, value: string, storable: boolean][] = [
  ['m3-returned-data-limited', unlimited, true],
  ['m3-returned-data-limited', unlimited.replace('false', 'true'), false],
  ['m3-returned-data-limited', '', false],
  ['m3-results-limited', 'max_fetch_series_limit_applied', false],
  ['m3-warnings', 'a', false],
]
for (const [name, value, storable] of headers) {
  test(`an answer with ${name}: ${value} is ${storable ? 'stored' : 'not stored'}`, () => {
    const plan = planned(getRange(ending('1600000001')))
    const sink = backend.decompose(plan, [plan.window])
    sink.write(Buffer.from('{"status":"success","data":{"resultType":"matrix","result":[]}}\n'))
    const decomposed = sink.end(0, { headers: [name, value], trailers: [] })
    assert.ok('panes' in decomposed)
    assert.equal(decomposed.storable, storable)
    const request: WireRequest = { ...getRange(''), path: '/api/v1/labels' }
    const whole = backend.whole!.plan(request, 0)!
    const labels = Buffer.from('{"status":"success","data":["a"]}')
    const isComplete = backend.whole!.isComplete!(labels, whole, { headers: [name, value], trailers: [] })
    assert.equal(isComplete, storable)
  })
}

test('its own engine answers in another form', () => {
  const bypassOf = (request: WireRequest) => {
    const query = backend.parse(request)
    assert.ok(query !== undefined && !('bypass' in query))
    const plan = backend.plan(query, 1_800_000_000_000)
    return 'bypass' in plan ? plan.bypass : undefined
  }
  const usual = getRange(ending('1600000600'))
  assert.equal(bypassOf({ ...usual, headers: ['m3-engine', 'm3query'] }), 'other_engine')
  assert.equal(bypassOf({ ...usual, search: `${usual.search}&engine=m3query` }), 'other_engine')
  assert.equal(bypassOf({ ...usual, headers: ['m3-engine', 'prometheus'] }), undefined)
  assert.equal(bypassOf(getRange('query=up&start=1600000000&end=1600000001&step=1ms')), 'invalid_parameter')
})
