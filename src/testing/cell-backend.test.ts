import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan, WireRequest } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import { startOf } from '../core/grid.ts'
import type { Intervals } from '../core/interval.ts'
import type { Span } from './backend-runs.ts'
import { cellBackend } from './cell-backend.ts'
import { printSpans, type RangesPlan, readSpans, rowsIn, spansIn } from './cell-ranges.ts'
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
const valueIn =
  (world: number) =>
  (start: EpochMs): string | undefined => {
    const density = pick(seededRandom(world), [0, 0.3, 0.8, 1])
    const random = seededRandom(mixSeeds(world, start))
    if (random() >= density) return undefined
    return pick(random, ['null', '0', '1.50', `${wholeNumber(random, 0, 1e9)}`])
  }

const printRows = (rows: readonly string[]): Uint8Array => Buffer.from(`{"rows":[${rows.join(',')}]}`)

function answer(world: number, { grid }: Plan, [interval]: Intervals): Uint8Array {
  const span = { from: startOf(grid, interval!.from), to: startOf(grid, interval!.to) }
  return printRows(rowsIn([span], grid, valueIn(world)))
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

const several = cellBackend({ several: true })

/** One to four ranges; ends are as likely as not between two cells, and two ranges may share a cell. */
function rangesRequest(random: Random): WireRequest {
  const step = pick(random, [2, 7, 1000, 60_000])
  const instant = (cell: number) => cell * step + (random() < 0.5 ? 0 : wholeNumber(random, 0, step - 1))
  const spans: Span[] = []
  let cell = pick(random, [0, wholeNumber(random, 0, 1e7)])
  for (let count = wholeNumber(random, 1, 4); count > 0; count--) {
    const from = instant(cell)
    cell += wholeNumber(random, 0, 8)
    const to = Math.max(instant(cell), from + 1)
    spans.push({ from, to })
    cell = Math.ceil(to / step) + wholeNumber(random, -1, 3)
  }
  const limit = random() < 0.3 ? `&limit=${wholeNumber(random, 1, 12)}` : ''
  return get(`q=up&ranges=${printSpans(spans)}&step=${step}${limit}`)
}

const spansOf = ({ search }: WireRequest) => readSpans(new URLSearchParams(search).get('ranges'))!

const rowsOf = (world: number, spans: readonly Span[], { grid }: Plan) => rowsIn(spans, grid, valueIn(world))

const ranges = 'q=up&ranges=1000-2000&step=100'

testBackend({
  backend: several,
  now: 2e12,
  request: rangesRequest,
  rounds: 300,
  answer: (world, plan, intervals) =>
    printRows(rowsOf(world, spansIn((plan as RangesPlan).spans, intervals, plan.grid), plan)),
  direct: (world, plan) =>
    printRows(rowsOf(world, spansOf(plan.request), plan).slice(0, (plan as RangesPlan).limit)),
  spans: spansOf,
  equivalent: [
    [get(ranges), get('step=100&ranges=1000-2000&q=up')],
    [get(ranges), get('q=up&ranges=1033-1077,5000-9001&step=100')],
    [get(ranges), get(`${ranges}&limit=3`)],
  ],
  different: [
    [get(ranges), get('q=down&ranges=1000-2000&step=100')],
    [get(ranges), get('q=up&ranges=1000-2000&step=200')],
    [get(ranges), get(`${ranges}&unknown=1`)],
  ],
})

test('ranges that end between cells have edges, which name their part', () => {
  const plan = (search: string) => {
    const query = several.parse(get(search))
    assert.ok(query !== undefined && !('bypass' in query))
    return several.plan(query, 0)
  }
  const { window, whole, edges } = plan('q=up&ranges=130-500,740-760,780-900&step=100') as Plan
  assert.deepEqual(window, { from: 1, to: 9 })
  assert.deepEqual(whole, [
    { from: 2, to: 5 },
    { from: 8, to: 9 },
  ])
  assert.deepEqual(edges, {
    buckets: [
      { from: 1, to: 2 },
      { from: 7, to: 8 },
    ],
    parts: '130-200,740-760,780-800',
  })
  assert.deepEqual(plan('q=up&ranges=5-5&step=100'), { bypass: 'missing_parameter' })
})
