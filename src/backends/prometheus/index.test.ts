import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalMatrix, printMatrix } from '../../../test/rigs/matrix.ts'
import { getRange as get, postRange as post, someRange } from '../../../test/rigs/range-requests.ts'
import { type Random, wholeNumber } from '../../testing/random.ts'
import { testBackend } from '../../testing/test-backend.ts'
import type { WireRequest } from '../backend.ts'
import { prometheus } from './index.ts'

const path = '/api/v1/query_range'
const backend = prometheus({ settledAgeMs: 86_400_000, maxBuckets: 11_001 })

const queries = ['up', 'sum by (job) (rate(x_total[5m]))', 'histogram_quantile(0.9, h)', 'up{job="ü+ &"}']

// Some grids begin at 1970.
const request = (random: Random): WireRequest =>
  someRange(random, {
    queries,
    starts: [0, 1_435_781_451_100, 1_700_000_000_000, wholeNumber(random, 0, 1.7e12)],
  })

const typical = 'query=up&start=1000&end=1600&step=60'

testBackend({
  backend,
  now: 1_700_000_000_000,
  request,
  answer: (world, { grid }, [interval]) => printMatrix(world, grid, interval!),
  canonical: canonicalMatrix,
  rounds: 300,
  equivalent: [
    [get(typical), post(typical)],
    [get(typical), get('step=1m&end=1600.0&query=%75p&start=1000')],
    [get(typical), get('query=up&start=1060&end=90000&step=60')],
    [get(typical), get('query=up&start=1970-01-01T00:16:40Z&end=1659.9&step=60s')],
    [get(typical), get(`${typical}&timeout=30s&limit=0&stats=&lookback_delta=`)],
    [get(`${typical}&a=1&b=2`), post(`b=2&${typical}`, 'a=1')],
  ],
  different: [
    [get(typical), get('query=up%20&start=1000&end=1600&step=60')],
    [get(typical), get('query=up&start=1001&end=1601&step=60')],
    [get(typical), get('query=up&start=1000&end=1600&step=30')],
    [get(typical), get('query=up&start=1000&end=1600&step=60001ms')],
    [get(typical), get(`${typical}&lookback_delta=1m`)],
    [get(typical), get(`${typical}&dedup=true`)],
    [get(`${typical}&x=1&x=2`), get(`${typical}&x=2&x=1`)],
  ],
})

test('only GET and POST to the range endpoint are claimed', () => {
  assert.ok(backend.claims('GET', path))
  assert.ok(backend.claims('POST', path))
  assert.ok(!backend.claims('HEAD', path))
  assert.ok(!backend.claims('GET', '/api/v1/query'))
  assert.ok(!backend.claims('GET', `${path}/`))
})

test('errors of our own look like errors of Prometheus', () => {
  const read = (status: number) =>
    JSON.parse(backend.presentation!.errorAnswer!(status, 'a "reason"').body) as unknown
  assert.deepEqual(read(400), { status: 'error', errorType: 'bad_data', error: 'a "reason"' })
  assert.deepEqual(read(504), { status: 'error', errorType: 'timeout', error: 'a "reason"' })
  assert.deepEqual(read(502), { status: 'error', errorType: 'unavailable', error: 'a "reason"' })
  assert.equal(backend.presentation!.errorAnswer!(400, '').contentType, 'application/json')
})
