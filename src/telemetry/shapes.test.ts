import assert from 'node:assert/strict'
import { test } from 'node:test'
import { samplePlan, sampleVisit, visits } from '../../test/rigs/visits.ts'
import { recordOf } from './record.ts'
import { TopShapes } from './shapes.ts'

const hit = (key: string, endedAt = visits.hit.endedAt) =>
  recordOf('main', { ...visits.hit, endedAt, decision: { ...visits.hit.decision, key } })

test('a row has the outcomes of a shape, its savings and the reason of its bypasses', () => {
  const shapes = new TopShapes()
  const miss = { ...visits.joined, totalMs: 100 }
  for (const visit of [miss, visits.hit, visits.hit, visits.partial, visits.gone])
    shapes.observe(recordOf('main', visit))
  const [row] = shapes.list(10)
  assert.deepEqual(row, {
    shape: samplePlan.shape,
    key: 'k',
    backend: 'main',
    stepMs: 60_000,
    phaseMs: 0,
    calendar: undefined,
    since: visits.hit.endedAt - 100,
    lastAt: visits.hit.endedAt - 10,
    count: 5,
    outcomes: { hit: 2, partial: 1, miss: 1, error: 1 },
    bytes: 4 * 6000,
    totalSeconds: 0.121,
    // Three answers that would have taken 100 ms each took 11 ms together.
    savedSeconds: 0.289,
    // Hits and joined requests did not query the database.
    asked: 1,
    askedSeconds: 0.008,
    notCached: 'client_gone',
  })
})

test('there are no savings before a miss was seen', () => {
  const shapes = new TopShapes()
  shapes.observe(hit('a'))
  assert.equal(shapes.list(1)[0]!.savedSeconds, 0)
})

test('bypasses are distinguished by their request', () => {
  const shapes = new TopShapes()
  for (const query of ['sort(a)', 'sort(b)', 'sort(a)']) {
    const wire = { ...samplePlan.request, search: `query=${query}&start=${Math.round(query.length)}` }
    shapes.observe(
      recordOf('main', sampleVisit({ outcome: 'bypass', reason: 'sorting' }, { plan: undefined, wire })),
    )
  }
  assert.deepEqual(
    shapes.list(10).map(({ shape, count, notCached }) => [shape, count, notCached]),
    [
      ['/api/v1/query_range sort(a)', 2, 'sorting'],
      ['/api/v1/query_range sort(b)', 1, 'sorting'],
    ],
  )
})

test('the table is bounded, and one-offs do not evict frequent shapes', () => {
  const shapes = new TopShapes(50)
  for (let i = 0; i < 20_000; i++) {
    shapes.observe(hit(`once ${i}`))
    if (i > 1000 && i % 4 === 0) shapes.observe(hit(`often ${i % 5}`))
  }
  assert.equal(shapes.size, 50)
  const top = shapes.list(5).map(({ key }) => key)
  assert.deepEqual(new Set(top), new Set(['often 0', 'often 1', 'often 2', 'often 3', 'often 4']))
})

test('a shape without requests loses its place after some hours', () => {
  const shapes = new TopShapes(10)
  const hour = 3_600_000
  for (let i = 0; i < 1000; i++) shapes.observe(hit('old'))
  for (let h = 1; h < 12; h++) {
    for (let i = 0; i < 30; i++) shapes.observe(hit(`new ${i % 15}`, visits.hit.endedAt + h * hour))
  }
  assert.ok(shapes.list(10).every(({ key }) => key !== 'old'))
})
