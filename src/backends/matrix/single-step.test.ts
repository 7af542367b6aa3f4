import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getRange as get } from '../../../test/rigs/range-requests.ts'
import type { Plan } from '../backend.ts'
import { prometheus } from '../prometheus/index.ts'

const backend = prometheus({ settledAgeMs: 86_400_000, maxBuckets: 11_001 })
const now = 1_700_000_000_000

function planOf(query: string, end: number): Plan {
  const parsed = backend.parse(get(`query=${encodeURIComponent(query)}&start=1000&end=${end}&step=60`))
  assert.ok(parsed !== undefined && !('bypass' in parsed))
  const plan = backend.plan(parsed, now)
  assert.ok(!('bypass' in plan), JSON.stringify(plan))
  return plan
}

const rangeOf = (plan: Plan, from: number, to: number): string =>
  backend
    .narrow(plan, [{ from: plan.window.from + from, to: plan.window.from + to }])
    .search.replace(/^query=[^&]*&/, '')

test('a single step of a sorted answer is asked for with a neighbour within the window', () => {
  const plan = planOf('sort_desc(up)', 1600)
  assert.equal(plan.isVerbatim, true)
  assert.equal(rangeOf(plan, 0, 11), 'start=1000&end=1600&step=60')
  assert.equal(rangeOf(plan, 10, 11), 'start=1540&end=1600&step=60')
  assert.equal(rangeOf(plan, 0, 1), 'start=1000&end=1060&step=60')
  assert.equal(rangeOf(plan, 3, 5), 'start=1180&end=1240&step=60')
  assert.equal(rangeOf(planOf('up', 1600), 10, 11), 'start=1600&end=1600&step=60')
})

test('a window of one step is asked for with the step before, and its answer is cut', () => {
  const plan = planOf('sort(up)', 1000)
  assert.equal(plan.isVerbatim, false)
  assert.equal(rangeOf(plan, 0, 1), 'start=940&end=1000&step=60')
  const sink = backend.decompose(plan, [plan.window])
  const warning = '"PromQL warning: sort is ineffective (1:1)"'
  sink.write(
    Buffer.from(
      `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[940,"1"],[1000,"2"]]},{"metric":{"a":"c"},"values":[[940,"1"]]}]},"warnings":[${warning}]}`,
    ),
  )
  const split = sink.end(now, { headers: [], trailers: [] })
  assert.ok('panes' in split)
  assert.deepEqual(
    split.panes.map(({ from, to }) => ({ from, to })),
    [plan.window],
  )
  const answer = backend.recompose(plan, split.panes)
  const bytes = Buffer.alloc(answer.length)
  answer.write(bytes)
  assert.equal(
    bytes.toString(),
    `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1000,"2"]]}]},"warnings":[${warning}]}`,
  )
})

test('a broken answer to a widened request is as broken as any', () => {
  const plan = planOf('sort(up)', 1000)
  const sink = backend.decompose(plan, [plan.window])
  sink.write(Buffer.from('{"status":"succ'))
  assert.ok(sink.held > 0)
  assert.ok('unusable' in sink.end(now, { headers: [], trailers: [] }))
})
