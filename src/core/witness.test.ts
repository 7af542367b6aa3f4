import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { bucketAt, calendarGrid, endOf, type Grid, gridThrough, startOf } from './grid.ts'
import { type Interval, uniteAll } from './interval.ts'
import {
  runVouchingFor,
  type StillSpan,
  stillAfter,
  stillInBoth,
  type Vouched,
  type VouchedObject,
  type VouchedQuestion,
  vouchedBuckets,
  vouchedSpan,
} from './witness.ts'

const unconfirmed = Number.POSITIVE_INFINITY
const points = 24

const someSpans = fc
  .array(fc.tuple(fc.nat(points - 1), fc.integer({ min: 1, max: 8 })), { maxLength: 4 })
  .map((pairs) =>
    uniteAll(
      pairs.map(([from, length]) => ({ from, to: Math.min(points, from + length) })),
      [],
    ),
  )

const covering = (spans: readonly Interval[], point: number) =>
  spans.filter(({ from, to }) => from <= point && point < to)

/** One number per point of time: since when it is the same; undefined where that is not known. */
type Model = readonly (number | undefined)[]

const modelOf = (spans: readonly StillSpan[]): Model =>
  Array.from({ length: points }, (_, point) => covering(spans, point)[0] as StillSpan | undefined).map(
    (span) => span?.since,
  )

const isOrderly = (spans: readonly Interval[]): boolean =>
  spans.every(({ from, to }, i) => from < to && (i === 0 || spans[i - 1]!.to <= from))

test('since when each point of time is the same, view by view, as one would write it down point by point', () => {
  const view = fc.record({ atRest: someSpans, changed: someSpans })
  fc.assert(
    fc.property(fc.array(view, { minLength: 1, maxLength: 6 }), (views) => {
      let spans: readonly StillSpan[] = []
      let model: Model = Array.from({ length: points }, () => undefined)
      views.forEach(({ atRest, changed }, i) => {
        const at = 1000 + 10 * i
        spans = stillAfter(spans, { atRest, changed, at, uselessBefore: Number.NEGATIVE_INFINITY })
        model = model.map((since, point) => {
          if (covering(atRest, point).length === 0) return undefined
          if (since === undefined || covering(changed, point).length > 0) return unconfirmed
          return since === unconfirmed ? at : since
        })
        assert.deepEqual(modelOf(spans), model)
        assert.ok(isOrderly(spans))
      })
    }),
  )
})

test('instants that make no difference any more are one: the list does not grow from day to day', () => {
  let spans: readonly StillSpan[] = []
  for (let hour = 1; hour <= 1000; hour++) {
    // Every hour another hour comes to rest.
    const sighting = { atRest: [{ from: 0, to: hour }], changed: [], at: 10 * hour }
    spans = stillAfter(spans, { ...sighting, uselessBefore: 10 * (hour - 24) })
  }
  assert.ok(spans.length <= 26, `${spans.length} spans`)
  assert.deepEqual(spans[0], { from: 0, to: 975, since: 9760 })
  assert.deepEqual(spans.at(-1), { from: 999, to: 1000, since: unconfirmed })
})

const someStill = fc
  .array(fc.tuple(fc.nat(6), fc.integer({ min: 1, max: 9 }), fc.nat(3)), { maxLength: 6 })
  .map((parts): StillSpan[] => {
    const spans: StillSpan[] = []
    let next = 0
    for (const [gap, length, since] of parts) {
      // Most of them lie close to each other.
      const from = next + Math.max(0, gap - 4)
      next = from + length
      spans.push({ from, to: next, since })
    }
    return spans
  })

test('of two data sources, that is still the same which is so in both, since the later', () => {
  fc.assert(
    fc.property(someStill, someStill, (a, b) => {
      const both = stillInBoth(a, b)
      const [first, second] = [modelOf(a), modelOf(b)]
      const expected = first.map((since, point) => {
        const other = second[point]
        return since === undefined || other === undefined ? undefined : Math.max(since, other)
      })
      assert.deepEqual(modelOf(both), expected)
      assert.ok(isOrderly(both))
    }),
  )
})

const day = 86_400_000
const months = calendarGrid({ unit: 'month', count: 1, zone: 'Europe/Berlin', origin: 0 })!

/** Of spans counted in quarter days: cells of a day in UTC, of 7 hours, and months of a zone. */
const grids: readonly Grid[] = [
  gridThrough('cell', day, 0),
  gridThrough('cell', 7 * 3_600_000, 3_600_000),
  months,
]

const vouchedWith = (still: Vouched['still']): Vouched => ({
  still,
  verifiedAt: 1_000,
  patienceMs: 60,
  maxAgeMs: 500,
})

const questionOf = (grid: Grid, window: Interval): VouchedQuestion => ({
  ...{ grid, window, sources: ['a'], knowsAllSources: true, lookbackMs: 0 },
})

test('a bucket is vouched for where all of its time is, since the latest of it', () => {
  const unit = day / 4
  fc.assert(
    fc.property(someStill, fc.constantFrom(...grids), fc.nat(30), (still, grid, skipped) => {
      const scale = grid.calendar === undefined ? unit : 20 * unit
      const spans = still.map(({ from, to, since }) => ({ from: from * scale, to: to * scale, since }))
      const window = { from: bucketAt(grid, skipped * scale) - 1, to: bucketAt(grid, 80 * scale) }
      const vouched = vouchedBuckets(vouchedWith(new Map([['a', spans]])), questionOf(grid, window))
      assert.ok(isOrderly(vouched?.runs ?? []))
      for (let bucket = window.from; bucket < window.to; bucket++) {
        const [from, to] = [startOf(grid, bucket), endOf(grid, bucket)]
        const parts = spans.filter((span) => span.from < to && from < span.to)
        const length = parts.reduce((sum, span) => sum + Math.min(span.to, to) - Math.max(span.from, from), 0)
        const isCovered = length === to - from
        const since = Math.max(...parts.map((span) => span.since))
        for (const clock of [0, 1, 2, 3, 4]) {
          const run = vouched && runVouchingFor(vouched, bucket, clock)
          assert.equal(run !== undefined, isCovered && since < clock, `bucket ${bucket}, clock ${clock}`)
        }
      }
    }),
  )
})

test('there is no statement about shapes whose data is not known to be that of the buckets', () => {
  const vouched = vouchedWith(new Map([['a', [{ from: Number.NEGATIVE_INFINITY, to: 10 * day, since: 1 }]]]))
  const question = questionOf(grids[0]!, { from: 0, to: 20 })
  assert.deepEqual(vouchedBuckets(vouched, question), {
    runs: [{ from: 0, to: 10, since: 1 }],
    verifiedAt: 1000,
    until: 1060,
    maxAgeMs: 500,
  })
  for (const other of [
    { knowsAllSources: false },
    { lookbackMs: 1 },
    { lookaheadMs: 1 },
    { lookbackMs: Number.POSITIVE_INFINITY },
    { sources: [] },
    { sources: ['b'] },
    { sources: ['a', 'b'] },
    { window: { from: 10, to: 20 } },
    { grid: gridThrough('point', day, 0) },
  ]) {
    assert.equal(vouchedBuckets(vouched, { ...question, ...other }), undefined, JSON.stringify(other))
  }
})

const confirmedSpans = fc
  .array(fc.tuple(fc.nat(points - 1), fc.integer({ min: 1, max: 8 }), fc.constantFrom(5, 7, unconfirmed)), {
    maxLength: 5,
  })
  .map((all) => {
    const still: StillSpan[] = []
    for (const [from, length, since] of all.sort(([a], [b]) => a - b)) {
      const start = Math.max(from, still.at(-1)?.to ?? 0)
      if (start < from + length) still.push({ from: start, to: from + length, since })
    }
    return still
  })

test('a whole span is vouched for where each point of it is, in every source, since the latest of them', () => {
  const span = fc.tuple(fc.nat(points - 2), fc.integer({ min: 1, max: 6 }))
  fc.assert(
    fc.property(confirmedSpans, confirmedSpans, span, (one, other, [from, length]) => {
      const asked = { from, to: from + length }
      const still = new Map([
        ['one', one],
        ['other', other],
      ])
      const said = { still, verifiedAt: 100, patienceMs: 10, maxAgeMs: 1000 }
      const found = vouchedSpan(said, { span: asked, sources: ['one', 'other'], knowsAllSources: true })
      let since = Number.NEGATIVE_INFINITY
      for (let point = asked.from; point < asked.to; point++) {
        for (const spans of [one, other]) {
          const covered = covering(spans, point)[0] as StillSpan | undefined
          since = Math.max(since, covered?.since ?? unconfirmed)
        }
      }
      const expected = since === unconfirmed ? undefined : { since, until: 110, maxAgeMs: 1000 }
      assert.deepEqual(found, expected)
    }),
  )
})

test('nothing is vouched for with unknown data sources, or without an end', () => {
  const still = new Map([['one', [{ from: Number.NEGATIVE_INFINITY, to: 20, since: 5 }]]])
  const said: Vouched = { still, verifiedAt: 100, patienceMs: 10, maxAgeMs: 1000 }
  const about = (object: Partial<VouchedObject>) =>
    vouchedSpan(said, { span: { from: 1, to: 20 }, sources: ['one'], knowsAllSources: true, ...object })
      ?.since
  assert.equal(about({}), 5)
  assert.equal(about({ span: { from: Number.NEGATIVE_INFINITY, to: 20 } }), 5)
  assert.equal(about({ span: { from: 1, to: 21 } }), undefined)
  assert.equal(about({ span: { from: 1, to: Number.POSITIVE_INFINITY } }), undefined)
  assert.equal(about({ knowsAllSources: false }), undefined)
  assert.equal(about({ sources: [] }), undefined)
  assert.equal(about({ sources: ['one', 'unknown'] }), undefined)
  assert.equal(vouchedSpan(said, { sources: ['one'], knowsAllSources: true }), undefined)
})
