import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testFamilyMember, typicalRange, withHeaders } from '../../../test/rigs/family-suite.ts'
import type { LabelSet } from '../../../test/rigs/matrix.ts'
import { getRange } from '../../../test/rigs/range-requests.ts'
import type { Flavour, Plan, WireRequest } from '../backend.ts'
import { flavour } from './flavour.ts'
import { mimir } from './index.ts'

const backend = mimir({ settledAgeMs: 86_400_000, maxBuckets: 11_001 })
const now = 1_800_000_000_000

/** By the text that its front end sorts by. */
const byMergedKey = (a: LabelSet, b: LabelSet): number => Buffer.compare(mergedKey(a), mergedKey(b))
const mergedKey = (labels: LabelSet): Buffer =>
  Buffer.concat(labels.flat().flatMap((text) => [Buffer.of(0xff), Buffer.from(text)]))

testFamilyMember({
  ...{ backend, order: byMergedKey },
  headers: ['x-scope-orgid', 'x-mimir-force-prometheus-engine', 'x-read-consistency', 'x-filter-queryables'],
})

test('it names itself', () => {
  const info = (data: unknown) => JSON.stringify({ status: 'success', data })
  const known = flavour.read(200, info({ application: 'Grafana Mimir', version: '3.1.0', features: {} }))
  assert.deepEqual(known, { isKnown: true, label: 'Mimir 3.1.0', version: [3, 1] })
  assert.equal(
    flavour.read(200, info({ version: '3.5.0', revision: 'a', goVersion: 'go1.26' })).isKnown,
    false,
  )
  assert.equal(flavour.read(401, 'no org id').isUnreadable, true)
})

const labels = `query=${encodeURIComponent('label_replace(up, "a", "$1", "b", "(.*)")')}&${typicalRange.slice(9)}`

function bypassOf(request = getRange(labels), known?: Flavour): unknown {
  const query = backend.parse(request)
  assert.ok(query !== undefined && !('bypass' in query))
  const plan = backend.plan(query, now, known)
  return 'bypass' in plan ? plan.bypass : 'planned'
}

test('label functions are cached where both its engines check labels at each step', () => {
  const at = (...version: number[]): Flavour => ({ isKnown: true, label: '', version })
  assert.equal(bypassOf(getRange(labels), at(3, 1)), 'planned')
  assert.equal(bypassOf(getRange(labels), at(2, 17)), 'unsafe_function')
  assert.equal(bypassOf(getRange(labels)), 'unsafe_function')
  const forced = { ...getRange(labels), headers: ['x-mimir-force-prometheus-engine', 'true'] }
  assert.equal(bypassOf(forced, at(3, 1)), 'unsafe_function')
})

test('requests that its own cache refuses are not cached here either', () => {
  const negative = `query=${encodeURIComponent('up offset -5m')}&${typicalRange.slice(9)}`
  assert.equal(bypassOf(getRange(negative)), 'unsafe_offset')
})

function planned(request: WireRequest): Plan {
  const query = backend.parse(request)
  assert.ok(query !== undefined && !('bypass' in query))
  const plan = backend.plan(query, now)
  assert.ok(!('bypass' in plan))
  return plan
}

function composed(answer: string): string {
  const plan = planned(getRange(typicalRange))
  const sink = backend.decompose(plan, [plan.window])
  sink.write(Buffer.from(answer))
  const parts = sink.end(now, { headers: [], trailers: [] })
  assert.ok('panes' in parts, JSON.stringify(parts))
  const recomposed = backend.recompose(plan, parts.panes)
  const target = Buffer.alloc(recomposed.length)
  recomposed.write(target)
  return target.toString()
}

const matrix = (...series: string[]): string =>
  `{"status":"success","data":{"resultType":"matrix","result":[${series.join(',')}]}}`
const oneSeries = (api: string): string =>
  `{"metric":{"__name__":"m","api":"${api}","x":"y"},"values":[[1600000000,"1"]]}`

test('a line feed behind an answer, which newer versions have, is kept', () => {
  for (const answer of [matrix(oneSeries('a')), `${matrix(oneSeries('a'))}\n`, `${matrix()}\n`])
    assert.equal(composed(answer), answer)
})

test('series are in the order of its front end: a value behind those that begin with it', () => {
  const answer = matrix(oneSeries('api-readonly'), oneSeries('api'), oneSeries('b'))
  assert.equal(composed(answer), answer)
})

const shapeOf = (...headers: string[]): string => planned(withHeaders(...headers)).shape

test('clients that get JSON share; a client that does not gets an answer of its own', () => {
  for (const accepted of ['', '*/*', 'application/json, text/plain, */*', 'text/html;q=0.9,*/*;q=0.8'])
    assert.equal(shapeOf('accept', accepted), shapeOf(), accepted)
  for (const accepted of [
    'text/html',
    'application/vnd.mimir.queryresponse+protobuf, */*',
    'application/json5',
  ])
    assert.notEqual(shapeOf('accept', accepted), shapeOf(), accepted)
})

test('answers that are kept as a whole are apart by tenant, too', () => {
  const labelsOf = (tenant: string) => {
    const request = { ...withHeaders('x-scope-orgid', tenant), path: '/api/v1/labels', search: '' }
    return backend.whole!.plan(request, now)!.text
  }
  assert.notEqual(labelsOf('a'), labelsOf('b'))
  assert.equal(labelsOf('a'), labelsOf('a'))
})
