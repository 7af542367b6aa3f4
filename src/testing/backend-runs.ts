/** Checks of testBackend on the runs of a plan: the laws of all plans, and the time that makes a bucket whole. */
import assert from 'node:assert/strict'
import type { Backend, Bypass, Plan } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import { bucketAt, type Grid, isAligned, startOf } from '../core/grid.ts'
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

/** Over its own instants a plan is the same. Over others its edges are other parts, by whose name requests share a fetch. */
export function checkOver(backend: Pick<Backend, 'over'>, own: Plan, now: EpochMs): void {
  const { asked, grid, edges } = own
  if (backend.over === undefined || asked === undefined) return
  assert.deepEqual(layoutOf(backend.over(own, asked, now)), layoutOf(own))
  const others = asked.map(({ from, to }) =>
    isAligned(grid, from) ? { from, to: to - 1 } : { from: from + 1, to },
  )
  const areInstants = others.every(({ from, to }) => from < to && Number.isFinite(to - from))
  if (edges === undefined || grid.kind === 'point' || !areInstants) return
  const { parts } = layoutOf(backend.over(own, others, now))?.edges ?? {}
  assert.notEqual(parts, edges.parts, 'edges over other instants have equal `parts`')
}

function layoutOf(plan: Plan | Bypass<string>) {
  if ('bypass' in plan) return undefined
  const { shape, grid, window, whole, edges } = plan
  return { shape, grid, window, whole, edges }
}
