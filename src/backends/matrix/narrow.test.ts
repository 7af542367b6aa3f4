import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { gridThrough } from '../../core/grid.ts'
import type { Plan, WireRequest } from '../backend.ts'
import { createPlanner } from '../prometheus/plan.ts'
import { narrow } from './narrow.ts'
import { parseTime } from './time.ts'

const planner = createPlanner({ settledAgeMs: 0, maxBuckets: 11_001 })
const text = (body: Uint8Array): string => new TextDecoder().decode(body)

const request = (method: string, search: string, body: string): WireRequest => ({
  method,
  path: '/api/v1/query_range',
  search,
  headers: method === 'POST' ? ['content-type', 'application/x-www-form-urlencoded', 'x-tenant', 'a'] : [],
  body: new TextEncoder().encode(body),
})

function planned(wire: WireRequest): Plan {
  const query = planner.parse(wire)
  assert.ok(query !== undefined && !('bypass' in query), JSON.stringify(query))
  const plan = planner.plan(query, 0)
  assert.ok(!('bypass' in plan), JSON.stringify(plan))
  return plan
}

test('replaces start and end in the URL of a GET and nothing else', () => {
  const plan = planned(
    request('GET', 'query=sum%28up%29+%2b+1&start=1000&end=1600.5&step=60&timeout=30s', ''),
  )
  assert.deepEqual(narrow(plan, { from: 18, to: 20 }), {
    ...plan.request,
    search: 'query=sum%28up%29+%2b+1&start=1120&end=1180&step=60&timeout=30s',
  })
})

test('replaces every occurrence, in URL and body of a POST, in whichever spelling', () => {
  const wire = request('POST', 'end=5&x=1&limit=0', 'st%61rt=1000.25&query=up&end=1600&start=7&step=1m')
  const narrowed = narrow(planned(wire), { from: 16, to: 17 })
  assert.equal(narrowed.search, 'end=1000.25&x=1&limit=0')
  assert.equal(text(narrowed.body), 'st%61rt=1000.25&query=up&end=1000.25&start=1000.25&step=1m')
  assert.equal(narrowed.headers, wire.headers)
})

test('trap: limit, timeout and unknown parameters are forwarded', () => {
  const wire = request('GET', 'limit=0&timeout=1m&foo=bar&query=up&start=0&end=60&step=60', '')
  assert.equal(
    narrow(planned(wire), { from: 1, to: 2 }).search,
    'limit=0&timeout=1m&foo=bar&query=up&start=60&end=60&step=60',
  )
})

const printed = (ms: number): string => {
  const wire = request('GET', 'start', '')
  return narrow({ grid: gridThrough('point', 1, ms), request: wire }, { from: ms, to: ms + 1 }).search.slice(
    6,
  )
}

test('prints as many decimals as needed', () => {
  assert.equal(printed(1435781430781), '1435781430.781')
  assert.equal(printed(1435781430780), '1435781430.78')
  assert.equal(printed(1435781430000), '1435781430')
  assert.equal(printed(5), '0.005')
  assert.equal(printed(0), '0')
})

test('Prometheus reads back exactly the millisecond that was printed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e12 }), (ms) => {
      assert.deepEqual(parseTime(printed(ms)), { ms, ns: 0 })
    }),
    { numRuns: 5000 },
  )
  for (let ms = 0; ms < 1000; ms++)
    assert.equal(parseTime(printed(1435781430000 + ms))?.ms, 1435781430000 + ms)
})

test('planning a narrowed request gives the same question on the same grid, and the narrowed window', () => {
  const range = fc.record({
    start: fc.integer({ min: 0, max: 4e12 }),
    stepMs: fc.integer({ min: 1, max: 1e8 }),
    steps: fc.integer({ min: 0, max: 11_000 }),
    method: fc.constantFrom('GET', 'POST'),
  })
  const part = fc.tuple(
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.double({ min: 0, max: 1, noNaN: true }),
  )
  fc.assert(
    fc.property(range, part, ({ start, stepMs, steps, method }, [left, right]) => {
      const end = start + steps * stepMs + Math.floor(left * (stepMs - 1))
      const form = `query=up&start=${start / 1000}&end=${end / 1000}&step=${stepMs}ms&x=1`
      const plan = planned(method === 'GET' ? request('GET', form, '') : request('POST', 'x=2', form))
      assert.equal(plan.window.to - plan.window.from, steps + 1)
      const from = plan.window.from + Math.floor(left * steps)
      const interval = { from, to: from + 1 + Math.floor(right * (plan.window.to - from - 1)) }
      const again = planned(narrow(plan, interval))
      assert.deepEqual([again.shape, again.grid, again.window], [plan.shape, plan.grid, interval])
    }),
  )
})
