/** Checks of testBackend on the runs of a plan: the laws of all plans, and the time that makes a bucket whole. */
import assert from 'node:assert/strict'
import type { Plan } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import { bucketAt, type Grid, startOf } from '../core/grid.ts'
import { countOf, hullOf, type Intervals, isEmpty, lengthOf, nothing, uniteAll } from '../core/interval.ts'

/** Instants [from, to). */
export interface Span {
  readonly from: EpochMs
  readonly to: EpochMs
}

/** Every requested bucket, whole or in part. */
export const askedBy = ({ whole, edges }: Plan): Intervals => uniteAll(whole, edges?.buckets ?? nothing)

/** Whole buckets and edges are runs in time order, no bucket is both, and together they reach over the window. */
export function checkRuns(plan: Plan): void {
  const { window, whole, edges } = plan
  assert.ok(lengthOf(window) > 0, 'a plan without buckets')
  assert.ok(edges === undefined || edges.buckets.length > 0, 'edges without buckets')
  for (const runs of [whole, edges?.buckets ?? nothing]) {
    assert.ok(
      runs.every((run, i) => !isEmpty(run) && (i === 0 || runs[i - 1]!.to <= run.from)),
      'runs that are empty, overlap, or are not in time order',
    )
  }
  const asked = askedBy(plan)
  assert.equal(countOf(asked), countOf(whole) + countOf(edges?.buckets ?? nothing), 'a bucket that is both')
  assert.deepEqual(hullOf(asked), { from: window.from, to: window.to })
}

/** Whole are the buckets that the spans cover, edges the buckets that they touch. */
export function checkEdges({ grid, whole, edges }: Plan, spans: readonly Span[]): void {
  const covered = coveredBy(spans, grid)
  const buckets = [...covered.keys()]
  const isWhole = (bucket: number) =>
    covered.get(bucket) === startOf(grid, bucket + 1) - startOf(grid, bucket)
  assert.deepEqual(bucketsIn(whole), buckets.filter(isWhole))
  assert.deepEqual(
    bucketsIn(edges?.buckets ?? nothing),
    buckets.filter((bucket) => !isWhole(bucket)),
  )
}

/** How many milliseconds of each bucket; in time order. */
function coveredBy(spans: readonly Span[], grid: Grid): ReadonlyMap<number, number> {
  const covered = new Map<number, number>()
  for (const { from, to } of spans) {
    for (let bucket = bucketAt(grid, from); startOf(grid, bucket) < to; bucket++) {
      const part = Math.min(to, startOf(grid, bucket + 1)) - Math.max(from, startOf(grid, bucket))
      covered.set(bucket, (covered.get(bucket) ?? 0) + part)
    }
  }
  return covered
}

const bucketsIn = (intervals: Intervals): number[] =>
  intervals.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i))
