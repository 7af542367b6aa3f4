import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plateauPolicy } from '../../test/rigs/plateau-policy.ts'
import type { CoverageRun } from '../core/coverage-runs.ts'
import { type Interval, type Intervals, nothing } from '../core/interval.ts'
import { noMarks } from '../core/mark.ts'
import { PaneBuilder } from '../core/pane-builder.ts'
import { fixed } from '../ttl/fixed.ts'
import { ladder } from '../ttl/ladder.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import { gapsIn, lapsingIn } from './gaps.ts'

const run = (from: number, to: number): Interval => ({ from, to })
const fresh = (from: number, to: number): CoverageRun => ({ from, to, state: 'fresh', settled: true })
const absent = (from: number, to: number): CoverageRun => ({ from, to, state: 'absent', settled: false })

function gaps(several: boolean, runs: readonly CoverageRun[], edges: Intervals = []): Intervals {
  const plan = { whole: runs, ...(edges.length > 0 && { edges: { buckets: edges, parts: '' } }) }
  return gapsIn(plan, runs, { severalIntervals: several })
}

test('where a query takes several intervals: buckets that are not fresh, and the edges', () => {
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

const minute = 60_000
/** A bucket each, fetched so many milliseconds before now, which is half a minute after the end of the last one. */
function lapsing(policy: TtlPolicy, ages: readonly number[], several = true): Intervals {
  const now = (ages.length + 0.5) * minute
  const panes = ages.map((age, from) =>
    new PaneBuilder(1).finish({
      interval: run(from, from + 1),
      fetchedAt: now - age,
      slab: Buffer.alloc(0),
    }),
  )
  const grid = { kind: 'cell', step: minute, origin: 0 } as const
  const rules = { grid, policy, now, notBefore: Number.NEGATIVE_INFINITY, marks: noMarks }
  return lapsingIn({ whole: [run(0, ages.length)] }, { panes, rules }, { severalIntervals: several })
}

test('a query brings along buckets that lapse within four fifths of the shortest TTL', () => {
  // Fetched at ages of 3, 2, 1 and 0 minutes: they live for 20, 10, 5 and 5 s.
  assert.deepEqual(lapsing(ladder(), [15_999, 5_999, 999, 0]), [])
  assert.deepEqual(lapsing(ladder(), [15_999, 6_000, 999, 1_000]), [run(1, 2), run(3, 4)])
  assert.deepEqual(lapsing(ladder(), [15_999, 6_000, 999, 1_000], false), nothing)
})

test('where all TTLs are alike, only buckets that lapse within a fiftieth of them', () => {
  assert.deepEqual(lapsing(fixed(100_000), [97_999, 98_000, 100_001]), [run(1, 3)])
  assert.deepEqual(lapsing(fixed(0), [0, 1]), [run(0, 2)])
})

test('buckets that lapse between others are brought along alone, also where TTLs fall with age', () => {
  const policy = plateauPolicy({
    ttls: [
      [0, 5000],
      [2 * minute, 100_000],
      [4 * minute, 20_000],
      [6 * minute, 3_600_000],
    ],
    settledAgeMs: 0,
  })
  // Fetched at ages of about 7.5 to 0.5 minutes: an hour twice, 20 s twice, 100 s twice, 5 s twice.
  assert.deepEqual(lapsing(policy, [0, 0, 16_000, 16_000, 16_000, 16_000, 0, 999]), [run(2, 4)])
  assert.deepEqual(lapsing(policy, [0, 0, 15_999, 15_999, 16_000, 16_000, 0, 1_000]), [run(7, 8)])
})
