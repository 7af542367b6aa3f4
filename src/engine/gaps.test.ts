import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CoverageRun } from '../core/coverage.ts'
import { type Interval, type Intervals, nothing } from '../core/interval.ts'
import { gapsIn } from './gaps.ts'

const run = (from: number, to: number): Interval => ({ from, to })
const fresh = (from: number, to: number): CoverageRun => ({ from, to, state: 'fresh', settled: true })
const absent = (from: number, to: number): CoverageRun => ({ from, to, state: 'absent', settled: false })

function gaps(several: boolean, runs: readonly CoverageRun[], edges: Intervals = []): Intervals {
  const plan = { whole: runs, ...(edges.length > 0 && { edges: { buckets: edges, parts: '' } }) }
  return gapsIn(plan, runs, { takesSeveralIntervals: several })
}

test('where a query takes several intervals: what is not fresh, and the edges', () => {
  assert.deepEqual(gaps(true, [absent(1, 3), fresh(3, 5), absent(5, 6)]), [run(1, 3), run(5, 6)])
  assert.deepEqual(gaps(true, [fresh(1, 5), absent(5, 6)], [run(0, 1), run(6, 7)]), [run(0, 1), run(5, 7)])
  assert.deepEqual(gaps(true, [], [run(0, 1)]), [run(0, 1)])
})

test('where it takes one: from the first to the last of them, and nothing may be left out', () => {
  assert.deepEqual(gaps(false, [absent(1, 3), fresh(3, 5), absent(5, 6)]), [run(1, 6)])
  assert.deepEqual(gaps(false, [fresh(1, 6)], [run(0, 1)]), [run(0, 1)])
  assert.deepEqual(gaps(false, [fresh(1, 6)], [run(6, 7)]), [run(6, 7)])
  assert.deepEqual(gaps(false, [absent(1, 3), fresh(3, 6)], [run(0, 1)]), [run(0, 3)])
  assert.deepEqual(gaps(false, [fresh(1, 6)], [run(0, 1), run(6, 7)]), [run(0, 7)])
  assert.deepEqual(gaps(false, [], [run(0, 1)]), [run(0, 1)])
})

test('a full hit is the one and the same nothing', () => {
  for (const several of [false, true]) {
    assert.equal(gaps(several, [fresh(1, 6)]), nothing)
    assert.equal(gaps(several, [fresh(1, 6), fresh(10, 12)]), nothing)
  }
})
