import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOW, samplePlan, sampleVisit, visits } from '../../test/rigs/visits.ts'
import { calendarGrid } from '../core/grid.ts'
import { bucketsOf, maxShapeChars, recordOf, runsOf, sizeOf } from './record.ts'

const minute = 60_000

const runs = (visit: (typeof visits)[keyof typeof visits]) =>
  runsOf(recordOf('main', visit)).map((run) => [
    run.source,
    (run.from - NOW) / minute,
    (run.to - NOW) / minute,
  ])

test('the window in runs: cached beginning, fetched, missing', () => {
  assert.deepEqual(runs(visits.hit), [['cache', -60, 0]])
  assert.deepEqual(runs(visits.partial), [
    ['cache', -60, -6],
    ['origin', -6, 0],
  ])
  assert.deepEqual(runs(visits.joined), [['origin', -60, 0]])
  assert.deepEqual(runs(visits.stale), [
    ['cache', -60, -10],
    ['missing', -10, 0],
  ])
  const hole = sampleVisit({
    ...visits.partial.decision,
    gaps: [{ from: samplePlan.window.from + 3, to: samplePlan.window.from + 5 }],
  })
  assert.deepEqual(runs(hole), [
    ['cache', -60, -57],
    ['origin', -57, -55],
    ['cache', -55, 0],
  ])
  for (const visit of [visits.bypass, visits.refused, visits.gone]) assert.deepEqual(runs(visit), [])
})

test('buckets by source add up to the window', () => {
  for (const visit of Object.values(visits)) {
    const record = recordOf('main', visit)
    const [cache, origin, missing] = (['cache', 'origin', 'missing'] as const).map((from) =>
      bucketsOf(record, from),
    )
    const total = runsOf(record).reduce((sum, run) => sum + (run.to - run.from) / minute, 0)
    assert.equal(cache! + origin! + missing!, total)
  }
  assert.equal(bucketsOf(recordOf('main', visits.partial), 'cache'), 54)
})

test('buckets of unequal length are counted, not divided', () => {
  const grid = calendarGrid({ unit: 'month', count: 1, zone: 'America/New_York', origin: 0 })!
  const plan = { ...samplePlan, grid, window: { from: 673, to: 680 }, whole: [{ from: 673, to: 680 }] }
  const partial = sampleVisit({ outcome: 'partial', gaps: [{ from: 676, to: 678 }] }, { plan })
  const record = recordOf('main', partial)
  assert.deepEqual([bucketsOf(record, 'cache'), bucketsOf(record, 'origin')], [5, 2])
  assert.deepEqual([record.stepMs, record.calendar?.unit], [grid.step, 'month'])
  const stale = recordOf(
    'main',
    sampleVisit({ outcome: 'stale', known: { from: 673, to: 678 }, missingBuckets: 2 }, { plan }),
  )
  assert.deepEqual([bucketsOf(stale, 'cache'), bucketsOf(stale, 'missing')], [5, 2])
})

const first = samplePlan.window.from
const run = (from: number, to: number) => ({ from: first + from, to: first + to })

test('several ranges, several gaps and edges: buckets are counted, and the time between is none of them', () => {
  const edges = { buckets: [run(0, 1), run(59, 60)], parts: '' }
  const plan = { ...samplePlan, whole: [run(1, 20), run(40, 59)], edges }
  const partial = { ...visits.partial.decision, asked: 5, gaps: [run(0, 1), run(5, 8), run(59, 60)] }
  const visit = sampleVisit(partial, { plan })
  const record = recordOf('main', visit)
  const counts = (['cache', 'origin', 'missing'] as const).map((from) => bucketsOf(record, from))
  assert.deepEqual(counts, [35, 5, 0])
  assert.deepEqual(runs(visit), [
    ['origin', -60, -59],
    ['cache', -59, -55],
    ['origin', -55, -52],
    ['cache', -52, -40],
    ['cache', -20, -1],
    ['origin', -1, 0],
  ])
  const stale = { ...visits.stale.decision, known: run(1, 50), missingBuckets: 11 }
  const late = sampleVisit(stale, { plan: { ...plan, edges: { ...edges, buckets: [run(0, 1)] } } })
  assert.deepEqual(runs(late), [
    ['missing', -60, -59],
    ['cache', -59, -40],
    ['cache', -20, -10],
    ['missing', -10, -1],
  ])
  const passedOn = sampleVisit({ outcome: 'bypass', reason: 'shadow' }, { plan, isForwarded: true })
  assert.equal(recordOf('main', passedOn).asked, 40)
  assert.deepEqual(runs(passedOn), [
    ['origin', -60, -40],
    ['origin', -20, 0],
  ])
})

test('more pieces than a reader can use are merged into one', () => {
  const gaps = Array.from({ length: 20 }, (_, i) => run(3 * i, 3 * i + 1))
  const visit = sampleVisit({ ...visits.partial.decision, gaps })
  assert.deepEqual(runs(visit), [
    ['origin', -60, -2],
    ['cache', -2, 0],
  ])
  assert.equal(bucketsOf(recordOf('main', visit), 'origin'), 20)
})

test('a planned request that was forwarded fetches its whole window', () => {
  const visit = sampleVisit({ outcome: 'bypass', reason: 'store_failed' }, { isForwarded: true })
  const record = recordOf('main', visit)
  assert.deepEqual([record.asked, bucketsOf(record, 'origin'), bucketsOf(record, 'cache')], [60, 60, 0])
})

test('a client that left, an answer that broke off, and a decision without a reason are errors', () => {
  const outcomeOf = (visit: (typeof visits)[keyof typeof visits]) => {
    const { outcome, reason } = recordOf('main', visit)
    return `${outcome}/${reason}`
  }
  assert.equal(outcomeOf(visits.gone), 'error/client_gone')
  assert.equal(
    outcomeOf(sampleVisit({ outcome: 'miss', reason: 'absent' }, { ending: 'broken' })),
    'error/database_unreachable',
  )
  assert.equal(
    outcomeOf(sampleVisit({ outcome: 'error', reason: 'internal' }, { ending: 'broken' })),
    'error/internal',
  )
  assert.equal(outcomeOf(sampleVisit({ outcome: 'error' })), 'error/internal')
  assert.equal(outcomeOf(sampleVisit({ outcome: 'error' }, { ending: 'gone' })), 'error/client_gone')
})

test('phases never add up to more than the whole', () => {
  const streamed = sampleVisit({
    outcome: 'miss',
    reason: 'absent',
    timings: { plan: 1, lookup: 2, fetch: 19 },
  })
  const { planMs, lookupMs, fetchMs, totalMs, at } = recordOf('main', streamed)
  assert.deepEqual([planMs + lookupMs + fetchMs, totalMs, at], [10, 10, NOW - 10])
})

test('texts are bounded, whatever was sent', () => {
  const long = 'x'.repeat(1_000_000)
  const visit = sampleVisit(
    { outcome: 'bypass', reason: 'stats', detail: long },
    { plan: { ...samplePlan, shape: long } },
  )
  const record = recordOf('main', visit)
  assert.equal(record.shape.length, maxShapeChars)
  assert.ok(sizeOf(record) < 4096)
  const body = Buffer.from(`start=1&query=${long}`)
  const wire = { ...samplePlan.request, body }
  assert.ok(
    recordOf('main', sampleVisit({}, { plan: undefined, wire, path: `/${long}` })).shape.length <=
      maxShapeChars,
  )
})

test('a query that was not planned is known by its path and text, not by its times', () => {
  const asked = (search: string, body = '') => {
    const wire = { ...samplePlan.request, search, body: Buffer.from(body) }
    return recordOf('main', sampleVisit({ outcome: 'bypass' }, { plan: undefined, wire })).shape
  }
  assert.equal(asked('query=sort(up)&start=1&end=2'), '/api/v1/query_range sort(up)')
  assert.equal(asked('', 'start=3&query=sort%28up%29'), '/api/v1/query_range sort(up)')
  assert.equal(asked('start=1'), '/api/v1/query_range')
})
