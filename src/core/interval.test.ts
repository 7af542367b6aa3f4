import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { contains, type Interval, intersect, isEmpty, lengthOf } from './interval.ts'

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
      assert.equal(contains(outer, inner), hasAll)
    }),
  )
})
