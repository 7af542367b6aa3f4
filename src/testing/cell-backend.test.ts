import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan, WireRequest } from '../backends/backend.ts'
import { startOf } from '../core/grid.ts'
import type { Interval } from '../core/interval.ts'
import { cellBackend } from './cell-backend.ts'
import { mixSeeds, pick, type Random, seededRandom, wholeNumber } from './random.ts'
import { testBackend } from './test-backend.ts'

const get = (search: string): WireRequest => ({
  method: 'GET',
  path: '/rows',
  search,
  headers: [],
  body: new Uint8Array(),
})

function request(random: Random): WireRequest {
  const step = pick(random, [1, 7, 1000, 60_000])
  const from = wholeNumber(random, 0, 2e12)
  const to = from + step * wholeNumber(random, 1, 30)
  return get(`q=${pick(random, ['up', 'a%26b', ''])}&from=${from}&to=${to}&step=${step}`)
}

/** Some worlds are empty, some full, most have holes. */
function answer(world: number, { grid }: Plan, interval: Interval): Uint8Array {
  const density = pick(seededRandom(world), [0, 0.3, 0.8, 1])
  const rows: string[] = []
  for (let bucket = interval.from; bucket < interval.to; bucket++) {
    const random = seededRandom(mixSeeds(world, bucket))
    if (random() >= density) continue
    const value = pick(random, ['null', '0', '-1.50', `${wholeNumber(random, 0, 1e9)}`])
    rows.push(`[${startOf(grid, bucket)},${value}]`)
  }
  return Buffer.from(`{"rows":[${rows.join(',')}]}`)
}

const typical = 'q=up&from=1000&to=2000&step=100'

testBackend({
  backend: cellBackend(),
  now: 2e12,
  request,
  answer,
  equivalent: [
    [get(typical), get('step=100&to=2000&from=1000&q=up')],
    [get(typical), get('q=up&from=1500&to=9000&step=100')],
    [get(typical), get('q=%75p&from=1000&to=2000&step=100')],
  ],
  different: [
    [get(typical), get('q=down&from=1000&to=2000&step=100')],
    [get(typical), get('q=up&from=1000&to=2000&step=200')],
    [get(typical), get('q=up&from=1001&to=2001&step=100')],
    [get(typical), get(`${typical}&unknown=1`)],
  ],
})

test('a last cell that is not whole is not planned', () => {
  const backend = cellBackend()
  const query = backend.parse(get('q=up&from=0&to=150&step=100'))
  assert.ok(query !== undefined && !('bypass' in query))
  assert.deepEqual(backend.plan(query, 0), {
    bypass: 'invalid_parameter',
    detail: 'the last cell is not whole',
  })
})
