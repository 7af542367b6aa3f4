import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { Grid } from './grid.ts'
import { bucketAt, calendarGrid, endOf, startOf } from './grid.ts'
import {
  type BucketMark,
  bucketMarkOf,
  folded,
  hasAllOf,
  isConcerned,
  isPurged,
  type Mark,
  type MarkedShape,
  markedRun,
  touchedBuckets,
} from './mark.ts'

const infinity = Number.POSITIVE_INFINITY
const everything: Mark = { kind: 'purge', from: -infinity, to: infinity, at: 1000 }

const question: MarkedShape = {
  key: 'k'.repeat(43),
  backend: 'main',
  shape: '["/api/v1/query_range","rate(x[5m])",60000]',
  query: 'rate(x[5m])',
  sources: ['x'],
  knowsAllSources: true,
  grid: { kind: 'point', step: 60_000, origin: 0 },
  lookbackMs: 300_000,
}

test('a mark matches only by the members that it names', () => {
  const isTouched = (part: Partial<Mark>, asked: Partial<MarkedShape> = {}): boolean =>
    isConcerned({ ...everything, ...part }, { ...question, ...asked })
  assert.ok(isTouched({}))
  assert.deepEqual([isTouched({ backend: 'main' }), isTouched({ backend: 'other' })], [true, false])
  for (const shape of [question.key, question.shape, question.query]) assert.ok(isTouched({ shape }))
  assert.ok(!isTouched({ shape: 'rate(x[5m]) ' }))
  assert.deepEqual([isTouched({ source: 'x' }), isTouched({ source: 'xx' })], [true, false])
  assert.ok(!isTouched({ source: 'x', backend: 'other' }), 'all that is named must agree')
  assert.ok(!isTouched({ source: 'x', shape: 'other' }))
})

test('a question that may read anything is touched by every source', () => {
  const unsure = { ...question, sources: [], knowsAllSources: false }
  assert.ok(isConcerned({ ...everything, source: 'anything' }, unsure))
  assert.ok(!isConcerned({ ...everything, source: 'anything' }, { ...unsure, knowsAllSources: true }))
})

/** The rule in words, bucket by bucket. */
function isComputedFrom(grid: Grid, bucket: number, { from, to, lookbackMs, lookaheadMs }: Span): boolean {
  const earliest = startOf(grid, bucket) - lookbackMs
  const end = endOf(grid, bucket) + lookaheadMs
  const reachesFrom = grid.kind === 'point' ? end >= from : end > from
  return lookbackMs === infinity || (reachesFrom && earliest < to)
}

interface Span {
  readonly from: number
  readonly to: number
  readonly lookbackMs: number
  readonly lookaheadMs: number
}

test('a bucket is touched where its data may lie in the interval', () => {
  const cases = fc.record({
    kind: fc.constantFrom('point' as const, 'cell' as const),
    step: fc.integer({ min: 1, max: 50 }),
    phase: fc.integer({ min: 0, max: 49 }),
    from: fc.oneof(fc.integer({ min: -500, max: 500 }), fc.constant(-infinity)),
    length: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.constant(infinity)),
    lookbackMs: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.constant(infinity)),
    lookaheadMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 200 })),
  })
  fc.assert(
    fc.property(cases, ({ kind, step, phase, from, length, lookbackMs, lookaheadMs }) => {
      const grid = { kind, step, origin: phase % step }
      const to = from === -infinity ? length : from + length
      const touched = touchedBuckets({ from, to }, { grid, lookbackMs, lookaheadMs })
      for (let bucket = -800; bucket <= 800; bucket += 1) {
        const isIn = touched.from <= bucket && bucket < touched.to
        assert.equal(
          isIn,
          isComputedFrom(grid, bucket, { from, to, lookbackMs, lookaheadMs }),
          `bucket ${bucket}`,
        )
      }
    }),
    { numRuns: 300 },
  )
})

test('days that clocks made longer or shorter are touched where their data lies', () => {
  const hour = 3_600_000
  const grid = calendarGrid({ unit: 'day', count: 1, zone: 'Europe/Berlin', origin: 0 })!
  const spring = bucketAt(grid, Date.UTC(2026, 2, 29))
  const spans = fc.record({
    from: fc.integer({ min: -100, max: 100 }).map((hours) => startOf(grid, spring) + hours * hour),
    hours: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constant(infinity)),
    lookbackMs: fc.integer({ min: 0, max: 50 }).map((hours) => hours * hour),
    lookaheadMs: fc.integer({ min: 0, max: 50 }).map((hours) => hours * hour),
  })
  fc.assert(
    fc.property(spans, ({ from, hours, lookbackMs, lookaheadMs }) => {
      const to = from + hours * hour
      const touched = touchedBuckets({ from, to }, { grid, lookbackMs, lookaheadMs })
      for (let bucket = spring - 12; bucket <= spring + 12; bucket++) {
        const isIn = touched.from <= bucket && bucket < touched.to
        assert.equal(
          isIn,
          isComputedFrom(grid, bucket, { from, to, lookbackMs, lookaheadMs }),
          `bucket ${bucket - spring}`,
        )
      }
    }),
  )
  assert.deepEqual(touchedBuckets(everything, { grid, lookbackMs: 0 }), { from: -infinity, to: infinity })
})

test('a mark that touches no bucket of a grid is none', () => {
  const between = { ...everything, from: 61_000, to: 62_000 }
  assert.equal(bucketMarkOf(between, { ...question, lookbackMs: 0 }), undefined)
  assert.deepEqual(bucketMarkOf(between, question), { kind: 'purge', at: 1000, from: 2, to: 7 })
  assert.equal(bucketMarkOf({ ...between, backend: 'other' }, question), undefined)
})

test('a mark concerns only buckets fetched at or before it, and a purge counts first', () => {
  const marks: BucketMark[] = [
    { kind: 'stale', from: 0, to: 20, at: 300 },
    { kind: 'purge', from: 5, to: 10, at: 100 },
    { kind: 'purge', from: 8, to: 12, at: 200 },
  ]
  assert.deepEqual(markedRun(0, 100, marks), { mark: marks[0], to: 5 })
  assert.deepEqual(markedRun(5, 100, marks), { mark: marks[1], to: 8 })
  assert.deepEqual(markedRun(8, 100, marks), { mark: marks[2], to: 10 })
  assert.deepEqual(markedRun(8, 101, marks), { mark: marks[2], to: 12 })
  assert.deepEqual(markedRun(8, 201, marks), { mark: marks[0], to: 20 })
  assert.deepEqual(markedRun(8, 301, marks), { mark: undefined, to: infinity })
  assert.deepEqual(markedRun(20, 0, marks), { mark: undefined, to: infinity })
  assert.deepEqual(
    [isPurged(5, 100, marks), isPurged(5, 101, marks), isPurged(4, 0, marks)],
    [true, false, false],
  )
  assert.equal(isPurged(5, Number.NaN, marks), false)
})

const names = fc.option(fc.constantFrom('a', 'b'), { nil: undefined })
const instants = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constantFrom(-infinity, infinity))
const someMark: fc.Arbitrary<Mark> = fc
  .record({
    kind: fc.constantFrom('purge', 'stale'),
    backend: names,
    shape: names,
    source: names,
    a: instants,
    b: instants,
    at: fc.integer({ min: 0, max: 5 }),
  })
  .filter(({ a, b }) => a !== b)
  .map(({ kind, backend, shape, source, a, b, at }) => ({
    kind: kind as Mark['kind'],
    ...(backend !== undefined && { backend }),
    ...(shape !== undefined && { shape }),
    ...(source !== undefined && { source }),
    from: Math.min(a, b),
    to: Math.max(a, b),
    at,
  }))

const someQuestion: fc.Arbitrary<MarkedShape> = fc
  .record({
    backend: fc.constantFrom('a', 'b'),
    key: fc.constantFrom('a', 'b', 'c'),
    source: names,
    knowsAllSources: fc.boolean(),
    lookbackMs: fc.constantFrom(0, 3, infinity),
  })
  .map(({ source, ...rest }) => ({
    ...rest,
    shape: '',
    query: '',
    sources: source === undefined ? [] : [source],
    grid: { kind: 'point', step: 1, origin: 0 } as const,
  }))

/** How a mark leaves a bucket: 0 as it was, 1 stale, 2 absent. */
function force(mark: Mark, asked: MarkedShape, { bucket, clock }: { bucket: number; clock: number }): number {
  const on = bucketMarkOf(mark, asked)
  const said = markedRun(bucket, clock, on === undefined ? [] : [on]).mark
  return said === undefined ? 0 : said.kind === 'stale' ? 1 : 2
}

const someBucket = fc.record({
  bucket: fc.integer({ min: -2, max: 25 }),
  clock: fc.integer({ min: 0, max: 6 }),
})

test('a mark that covers another includes all that the other covers', () => {
  let covered = 0
  fc.assert(
    fc.property(
      someMark,
      someMark,
      someQuestion,
      fc.array(someBucket, { maxLength: 20 }),
      (mark, other, asked, buckets) => {
        if (!hasAllOf(mark, other)) return
        covered++
        for (const bucket of buckets) assert.ok(force(mark, asked, bucket) >= force(other, asked, bucket))
      },
    ),
    { numRuns: 20_000 },
  )
  assert.ok(covered > 100, 'the cases have too few that cover')
})

test('a fold covers every mark that went into it', () => {
  fc.assert(
    fc.property(fc.array(someMark, { minLength: 1, maxLength: 6 }), names, (marks, backend) => {
      const all = marks.map(({ backend: _, ...mark }) =>
        backend === undefined ? mark : { ...mark, backend },
      )
      const fold = folded(all as [Mark, ...Mark[]])
      for (const mark of all) assert.ok(hasAllOf(fold, mark))
      assert.equal(fold.backend, backend)
    }),
  )
})
