import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  countOf,
  hullOf,
  type Interval,
  type Intervals,
  intersect,
  intersectAll,
  isEmpty,
  isWithin,
  lengthOf,
  subtractAll,
  uniteAll,
} from './interval.ts'

const bound = fc.integer({ min: -20, max: 20 })
const interval: fc.Arbitrary<Interval> = fc.record({ from: bound, to: bound })
const buckets = Array.from({ length: 50 }, (_, i) => i - 25)
const has = ({ from, to }: Interval, bucket: number): boolean => from <= bucket && bucket < to

test('length and emptiness count the buckets', () => {
  fc.assert(
    fc.property(interval, (interval) => {
      const count = buckets.filter((bucket) => has(interval, bucket)).length
      assert.equal(lengthOf(interval), count)
      assert.equal(isEmpty(interval), count === 0)
    }),
  )
})

test('the intersection has the buckets that both have', () => {
  fc.assert(
    fc.property(interval, interval, (a, b) => {
      const shared = intersect(a, b)
      for (const bucket of buckets) assert.equal(has(shared, bucket), has(a, bucket) && has(b, bucket))
      assert.deepEqual(shared, intersect(b, a))
    }),
  )
})

test('an interval contains another iff it has all its buckets; both are not empty', () => {
  fc.assert(
    fc.property(interval, interval, (outer, inner) => {
      fc.pre(!isEmpty(inner))
      const hasAll = buckets.every((bucket) => !has(inner, bucket) || has(outer, bucket))
      assert.equal(isWithin(inner, outer), hasAll)
    }),
  )
})

const runs = fc.array(interval, { maxLength: 5 }).map((all) =>
  uniteAll(
    all.filter((each) => !isEmpty(each)),
    [],
  ),
)
const hasAny = (all: Intervals, bucket: number) => all.some((each) => has(each, bucket))

test('runs are united, intersected and subtracted bucket by bucket, and stay runs', () => {
  fc.assert(
    fc.property(runs, runs, (a, b) => {
      const [all, shared, left] = [uniteAll(a, b), intersectAll(a, b), subtractAll(a, b)]
      for (const bucket of buckets) {
        const [inA, inB] = [hasAny(a, bucket), hasAny(b, bucket)]
        assert.equal(hasAny(all, bucket), inA || inB)
        assert.equal(hasAny(shared, bucket), inA && inB)
        assert.equal(hasAny(left, bucket), inA && !inB)
      }
      for (const result of [all, shared, left]) {
        assert.ok(result.every((each, i) => !isEmpty(each) && (i === 0 || result[i - 1]!.to <= each.from)))
        assert.equal(countOf(result), buckets.filter((bucket) => hasAny(result, bucket)).length)
        for (const each of result) assert.ok(isWithin(each, hullOf(result)))
      }
    }),
  )
})
