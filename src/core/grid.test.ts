import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { bucketAt, endOf, type Grid, gridThrough, isAligned, startOf } from './grid.ts'

/** Dates reach to ±8.64e15 ms. */
const instant = fc.oneof(
  fc.integer({ min: -8.64e15, max: 8.64e15 }),
  fc.integer({ min: -100_000, max: 100_000 }),
)
const step = fc.oneof(
  fc.constantFrom(1, 1000, 15_000, 60_000, 3_600_000, 31_536_000_000),
  fc.integer({ min: 1, max: 1e11 }),
)
const kind = fc.constantFrom<Grid['kind']>('point', 'cell')
const grid = fc.tuple(kind, step, instant).map((parts) => gridThrough(...parts))

test('a grid through an instant has a bucket that begins there, and its phase lies in [0, step)', () => {
  fc.assert(
    fc.property(kind, step, instant, (kind, step, start) => {
      const grid = gridThrough(kind, step, start)
      assert.ok(grid.origin >= 0 && grid.origin < step)
      assert.ok(!Object.is(grid.origin, -0), 'a negative zero would print like another grid')
      assert.equal(startOf(grid, bucketAt(grid, start)), start)
      assert.ok(isAligned(grid, start))
    }),
  )
})

test('two instants lie on one grid iff they are whole steps apart', () => {
  fc.assert(
    fc.property(kind, step, instant, fc.integer({ min: -1000, max: 1000 }), (kind, step, start, steps) => {
      const there = gridThrough(kind, step, start + steps * step)
      assert.deepEqual(there, gridThrough(kind, step, start))
      if (step > 1) assert.notDeepEqual(gridThrough(kind, step, start + 1), gridThrough(kind, step, start))
    }),
  )
})

test('the bucket at an instant is the last that begins at or before it', () => {
  fc.assert(
    fc.property(grid, instant, (grid, instant) => {
      const bucket = bucketAt(grid, instant)
      assert.ok(Number.isInteger(bucket))
      assert.ok(startOf(grid, bucket) <= instant)
      assert.ok(startOf(grid, bucket + 1) > instant)
    }),
  )
})

test('numbers and beginnings are each other’s inverse; only beginnings are aligned', () => {
  fc.assert(
    fc.property(grid, instant, (grid, instant) => {
      const bucket = bucketAt(grid, instant)
      assert.equal(bucketAt(grid, startOf(grid, bucket)), bucket)
      assert.equal(bucketAt(grid, startOf(grid, bucket + 1) - 1), bucket)
      assert.equal(isAligned(grid, instant), startOf(grid, bucket) === instant)
    }),
  )
})

test('a cell ends where the next one begins, an instant at itself', () => {
  fc.assert(
    fc.property(grid, instant, (grid, instant) => {
      const bucket = bucketAt(grid, instant)
      assert.equal(endOf(grid, bucket), startOf(grid, grid.kind === 'cell' ? bucket + 1 : bucket))
    }),
  )
})
