import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { gridThrough } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import { bucketsOf, clip } from './buckets.ts'
import type { Span } from './druid-plan.ts'
import { condense } from './intervals.ts'

const ten = gridThrough('cell', 10, 0)

function touched(spans: readonly Span[], maxBuckets = 1000) {
  const buckets = bucketsOf(ten, spans, maxBuckets)
  assert.ok(!('bypass' in buckets))
  return buckets
}

test('aligned spans are whole buckets', () => {
  assert.deepEqual(touched([{ from: 20, to: 50 }]), {
    window: { from: 2, to: 5 },
    whole: [{ from: 2, to: 5 }],
  })
})

test('the ends of a span may be parts of buckets', () => {
  assert.deepEqual(touched([{ from: 25, to: 51 }]), {
    window: { from: 2, to: 6 },
    whole: [{ from: 3, to: 5 }],
    edges: {
      buckets: [
        { from: 2, to: 3 },
        { from: 5, to: 6 },
      ],
      parts: '25/30,50/51',
      isStorable: true,
    },
  })
})

test('two spans in one bucket are one edge with two parts', () => {
  assert.deepEqual(
    touched([
      { from: 21, to: 23 },
      { from: 25, to: 29 },
    ]),
    {
      window: { from: 2, to: 3 },
      whole: [],
      edges: { buckets: [{ from: 2, to: 3 }], parts: '21/23,25/29', isStorable: true },
    },
  )
})

test('edges next to each other are one run', () => {
  const { whole, edges } = touched([{ from: 25, to: 35 }])
  assert.deepEqual([whole, edges], [[], { buckets: [{ from: 2, to: 4 }], parts: '25/35', isStorable: true }])
})

test('buckets before 1970 count like others', () => {
  assert.deepEqual(touched([{ from: -15, to: 0 }]), {
    window: { from: -2, to: 0 },
    whole: [{ from: -1, to: 0 }],
    edges: { buckets: [{ from: -2, to: -1 }], parts: '-15/-10', isStorable: true },
  })
})

test('whole buckets and edges count together', () => {
  const spans = [{ from: 25, to: 51 }]
  assert.ok(!('bypass' in bucketsOf(ten, spans, 4)))
  assert.deepEqual(bucketsOf(ten, spans, 3), { bypass: 'too_many_buckets' })
  const many = Array.from({ length: 50 }, (_, i) => ({ from: i * 10, to: i * 10 + 1 }))
  assert.deepEqual(bucketsOf(ten, many, 49), { bypass: 'too_many_buckets' })
})

const spansOf = fc
  .array(fc.tuple(fc.integer({ min: -80, max: 80 }), fc.integer({ min: 1, max: 40 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((pairs) => condense(pairs.map(([from, length]) => ({ from, to: from + length }))))

const bucketsIn = (runs: readonly Interval[]): number[] =>
  runs.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i))

const has = (spans: readonly Span[], at: number): boolean =>
  spans.some(({ from, to }) => from <= at && at < to)

/** Which of the ten instants of a bucket are requested. */
const askedOf = (spans: readonly Span[], bucket: number): boolean[] =>
  Array.from({ length: 10 }, (_, i) => has(spans, bucket * 10 + i))

test('a bucket is whole, an edge or neither, according to its instants', () => {
  fc.assert(
    fc.property(spansOf, (spans) => {
      const { window, whole, edges } = touched(spans)
      const [wholeOnes, edgeOnes] = [bucketsIn(whole), bucketsIn(edges?.buckets ?? [])]
      for (let bucket = -20; bucket < 20; bucket++) {
        const asked = askedOf(spans, bucket)
        const isWhole = asked.every((is) => is)
        const isTouched = asked.some((is) => is)
        assert.equal(wholeOnes.includes(bucket), isWhole)
        assert.equal(edgeOnes.includes(bucket), isTouched && !isWhole)
        assert.ok(!isTouched || (window.from <= bucket && bucket < window.to))
      }
      const all = [...wholeOnes, ...edgeOnes]
      assert.deepEqual(window, { from: Math.min(...all), to: Math.max(...all) + 1 })
    }),
  )
})

test('clipped spans hold exactly the requested instants inside the buckets', () => {
  const runs = fc
    .uniqueArray(fc.integer({ min: -9, max: 12 }), { minLength: 1, maxLength: 8 })
    .map((buckets) => buckets.sort((a, b) => a - b).map((from) => ({ from, to: from + 1 })))
  fc.assert(
    fc.property(spansOf, runs, (spans, intervals) => {
      const clipped = clip(ten, spans, intervals)
      assert.deepEqual(condense(clipped), clipped)
      for (let at = -120; at < 140; at++) {
        const isInside = intervals.some(({ from, to }) => from * 10 <= at && at < to * 10)
        assert.equal(has(clipped, at), isInside && has(spans, at))
      }
    }),
  )
})
