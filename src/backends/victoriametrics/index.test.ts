import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalMatrix, printMatrix } from '../../../test/rigs/matrix.ts'
import { getRange as get, postRange as post, someRange } from '../../../test/rigs/range-requests.ts'
import { gridThrough } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import { type Random, wholeNumber } from '../../testing/random.ts'
import { testBackend } from '../../testing/test-backend.ts'
import type { Decomposed, Plan, WireRequest } from '../backend.ts'
import { victoriametrics } from './index.ts'

const backend = victoriametrics({ settledAgeMs: 86_400_000, maxBuckets: 11_001 })

// Behind aggregations the order of series is the one that the generated answers have.
const queries = ['sum(up[5m])', 'sum by (job) (avg_over_time(x_total[5m]))', 'max(up{job="ü+ &"}[1m])']

const request = (random: Random): WireRequest =>
  someRange(random, {
    queries,
    starts: [1_435_781_451_100, 1_600_000_000_000, wholeNumber(random, 1e12, 1.6e12)],
  })

/** As VictoriaMetrics ends its answers. */
function withStats(answer: Uint8Array): Buffer {
  const text = Buffer.from(answer)
  return Buffer.concat([
    text.subarray(0, -1),
    Buffer.from(',"stats":{"seriesFetched": "2","executionTimeMsec":1}}'),
  ])
}

const typical = 'query=up[5m]&start=1600000000&end=1600000600&step=60'
const tenantHeaders = ['accountid', 'projectid']
const ofTenant = (name: string, tenant: string): WireRequest => ({ ...get(typical), headers: [name, tenant] })

testBackend({
  backend,
  now: 1_800_000_000_000,
  request,
  answer: (world, { grid }, [interval]) => printMatrix(world, grid, interval!),
  canonical: canonicalMatrix,
  rounds: 100,
  equivalent: [
    [get(typical), post(typical)],
    [get(typical), get('step=1m&end=1600000600.0&query=up[5m]&start=1600000000')],
    [get(typical), get(`${typical}&nocache=1&timeout=30s`)],
  ],
  different: [
    [get(typical), get('query=up[5m]&start=1600000001&end=1600000601&step=60')],
    [get(typical), get(`${typical}&extra_label=a%3Db`)],
    [get(typical), get(`${typical}&round_digits=2`)],
    ...tenantHeaders.map((name): [WireRequest, WireRequest] => [ofTenant(name, '1'), ofTenant(name, '2')]),
  ],
})

test('answers that are kept as a whole are apart by tenant, too', () => {
  for (const name of tenantHeaders) {
    const texts = ['1', '2'].map((tenant) => {
      const request = { ...ofTenant(name, tenant), path: '/api/v1/labels', search: '' }
      return backend.whole!.plan(request, 0)!.text
    })
    assert.notEqual(texts[0], texts[1])
  }
})

const grid = gridThrough('point', 500, 1000)
const interval: Interval = { from: 2, to: 7 }
const plan = { text: 'x[5m]', grid, request: get('') } as Plan

function split(answer: string): Decomposed {
  const sink = backend.decompose(plan, [interval])
  for (const byte of Buffer.from(answer)) sink.write(Uint8Array.of(byte))
  const decomposed = sink.end(0, { headers: [], trailers: [] })
  assert.ok('panes' in decomposed, JSON.stringify(decomposed))
  return decomposed
}

function joined({ panes }: Decomposed): string {
  const recomposed = backend.recompose(plan, panes)
  const target = Buffer.alloc(recomposed.length)
  recomposed.write(target)
  return target.toString()
}

const series = '{"metric":{"__name__":"x"},"values":[[1,"1"],[1.5,"2"],[2,"1e-7"]]}'
const plain = `{"status":"success","data":{"resultType":"matrix","result":[${series}]}}`
const stats = ',"stats":{"seriesFetched": "1","executionTimeMsec":0}}'

test('statistics of one execution are left out, and instants have as many decimals as needed', () => {
  const decomposed = split(`${plain.slice(0, -1)}${stats}`)
  assert.equal(joined(decomposed), plain)
  assert.equal(decomposed.storable, true)
  assert.equal(
    backend.presentation!.differenceFrom!(withStats(Buffer.from(plain)), Buffer.from(plain)),
    'none',
  )
  const other = plain.replace('1e-7', '2e-7')
  assert.equal(
    backend.presentation!.differenceFrom!(withStats(Buffer.from(plain)), Buffer.from(other)),
    'data',
  )
})

for (const isPartial of [false, true]) {
  test(`an answer of a cluster that is ${isPartial ? 'partial is not stored' : 'whole keeps its flag'}`, () => {
    const flagged = plain.replace(',"data"', `,"isPartial":${isPartial},"data"`)
    const decomposed = split(`${flagged.slice(0, -1)}${stats}`)
    assert.equal(decomposed.storable, !isPartial)
    assert.equal(joined(decomposed), flagged)
  })
}

test('a trace, or anything else that is not known, makes an answer unusable', () => {
  const sink = backend.decompose(plan, [interval])
  sink.write(Buffer.from(`${plain.slice(0, -1)},"trace":{"message":"a"}}`))
  assert.ok('unusable' in sink.end(0, { headers: [], trailers: [] }))
})

test('its own cache is never used, whatever the client’s parameters', () => {
  const narrowed = (given: WireRequest) => backend.narrow({ grid, request: given } as Plan, [interval])
  const times = 'start=1&end=3'
  assert.equal(narrowed(get('start=9&end=99')).search, `${times}&nocache=1`)
  assert.equal(narrowed(get('nocache=0&start=9&end=99')).search, `nocache=1&${times}&nocache=1`)
  const posted = narrowed(post('start=9&end=99&nocache=0'))
  assert.equal(posted.search, 'nocache=1')
  assert.equal(Buffer.from(posted.body).toString(), `${times}&nocache=1`)
})

test('errors of our own look like errors of VictoriaMetrics', () => {
  const { body } = backend.presentation!.errorAnswer!(422, 'a "reason"')
  assert.deepEqual(JSON.parse(body), { status: 'error', errorType: '422', error: 'a "reason"' })
})
