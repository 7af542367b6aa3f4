import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testFamilyMember, typicalRange } from '../../../test/rigs/family-suite.ts'
import { getRange, postRange } from '../../../test/rigs/range-requests.ts'
import { bucketAt, gridThrough } from '../../core/grid.ts'
import type { Decomposed, Flavour, Plan } from '../backend.ts'
import { flavour } from './flavour.ts'
import { thanos } from './index.ts'

const backend = thanos({ settledAgeMs: 86_400_000, maxBuckets: 11_001 })

testFamilyMember({ backend, headers: ['thanos-tenant'], refuses: ['replicaLabels'] })

const flags = (data: unknown): string => JSON.stringify({ status: 'success', data })
const usual = {
  'query.partial-response': 'true',
  'query.replica-label': '',
  'query.promql-engine': 'prometheus',
}

test('it is known by its flags, which show whether it picks replicas', () => {
  assert.deepEqual(flavour.read(200, flags(usual)), { isKnown: true, label: 'Thanos (not deduplicating)' })
  const picking = flavour.read(200, flags({ ...usual, 'query.replica-label': 'replica' }))
  assert.deepEqual(picking, { isKnown: true, label: 'Thanos (deduplicating)', traits: ['picks replicas'] })
  const chained = { ...usual, 'query.replica-label': 'replica', 'deduplication.func': 'chain' }
  assert.equal(flavour.read(200, flags(chained)).traits, undefined)
  const prometheus = {
    'query.lookback-delta': '5m',
    'query.timeout': '2m',
    'web.listen-address': '0.0.0.0:9090',
  }
  assert.equal(flavour.read(200, flags(prometheus)).isKnown, false)
  assert.equal(flavour.read(404, '404 page not found').isUnreadable, true)
  assert.equal(flavour.read(200, '{"data":null}').isKnown, false)
})

function planOf(search: string, known: Flavour): unknown {
  const query = backend.parse(getRange(`${typicalRange}${search}`))
  assert.ok(query !== undefined && !('bypass' in query))
  const plan = backend.plan(query, 1_800_000_000_000, known)
  return 'bypass' in plan ? plan.bypass : 'planned'
}

test('deduplication is bypassed: which replica a sample comes from depends on where a request begins', () => {
  const plain: Flavour = { isKnown: true, label: '' }
  const picking: Flavour = { ...plain, traits: ['picks replicas'] }
  assert.equal(planOf('', plain), 'planned')
  assert.equal(planOf('', picking), 'depends_on_range')
  assert.equal(planOf('&dedup=true', picking), 'depends_on_range')
  assert.equal(planOf('&dedup=false', picking), 'planned')
  assert.equal(planOf('&replicaLabels[]=a', plain), 'depends_on_range')
  assert.equal(planOf('&replicaLabels%5B%5D=a&dedup=0', plain), 'planned')
  assert.equal(planOf('&analyze=true', plain), 'stats')
  assert.equal(planOf('&partial_response=true', plain), 'planned')
  assert.equal(planOf('&partial_response=maybe', plain), 'invalid_parameter')
})

test('with assume.replicas it is cached, and the answer names that', () => {
  const assuming = thanos({ settledAgeMs: 86_400_000, maxBuckets: 11_001, replicas: true })
  const exceptionsOf = (search: string) => {
    const query = assuming.parse(getRange(`${typicalRange}${search}`))
    assert.ok(query !== undefined && !('bypass' in query))
    const known: Flavour = { isKnown: true, label: '', traits: ['picks replicas'] }
    const planned = assuming.plan(query, 1_800_000_000_000, known)
    return 'bypass' in planned ? planned.bypass : planned.exceptions
  }
  assert.deepEqual(exceptionsOf(''), ['assume.replicas'])
  assert.equal(exceptionsOf('&dedup=false'), undefined)
})

const grid = gridThrough('point', 60_000, 1_600_000_000_000)
const first = bucketAt(grid, 1_600_000_000_000)
const plan = { text: 'up', grid, request: getRange('') } as Plan

test('requests for parts want all of the data or none', () => {
  const narrowed = backend.narrow({ ...plan, request: postRange('start=9&end=99&partial_response=true') }, [
    { from: 0, to: 1 },
  ])
  assert.equal(narrowed.search, 'partial_response=false')
  assert.match(Buffer.from(narrowed.body).toString(), /&partial_response=false$/)
})

function split(answer: string): Decomposed {
  const sink = backend.decompose(plan, [{ from: first, to: first + 2 }])
  sink.write(Buffer.from(answer))
  const decomposed = sink.end(0, { headers: [], trailers: [] })
  assert.ok('panes' in decomposed, JSON.stringify(decomposed))
  return decomposed
}

const series = '{"metric":{"__name__":"up"},"values":[[1600000000,"1"],[1600000060,"1"]]}'
const before = `{"status":"success","data":{"resultType":"matrix","result":[${series}]`

// As a querier and a query-frontend end their answers.
const endings = [',"analysis":{}', ',"analysis":{"name":"","executionTime":"0s","children":null}', '']
for (const ending of endings) {
  test(`the analysis of one execution is left out: ${ending}`, () => {
    const direct = `${before}${ending}}}`
    const { panes, storable } = split(direct)
    const recomposed = backend.recompose(plan, panes)
    const answer = Buffer.alloc(recomposed.length)
    recomposed.write(answer)
    assert.equal(answer.toString(), `${before}}}`)
    assert.equal(storable, true)
    const { differenceFrom } = backend.presentation!
    assert.equal(differenceFrom!(Buffer.from(direct), answer), 'none')
    assert.equal(differenceFrom!(Buffer.from(direct.replace('"1"', '"2"')), answer), 'data')
  })
}

test('a warning that is not an annotation of PromQL may mean that data is missing: not stored', () => {
  const warned = (text: string) =>
    split(`${before},"analysis":{}},"warnings":[${JSON.stringify(text)}]}`).storable
  assert.equal(warned('No StoreAPIs matched for this query'), false)
  assert.equal(warned('receive series from Addr: 127.0.0.1:1 : rpc error'), false)
  assert.equal(warned('PromQL info: metric might not be a counter: "up" (1:6)'), true)
})
