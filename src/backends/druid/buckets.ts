/** Which buckets spans of instants touch: as a whole, or only in part. */
import { bucketAt, endOf, type Grid, startOf } from '../../core/grid.ts'
import { countOf, type Interval, intersectAll, nothing, uniteAll } from '../../core/interval.ts'
import type { Edges, Plan } from '../backend.ts'
import type { Span } from './druid-plan.ts'
import { condense } from './intervals.ts'
import type { Bypass } from './reasons.ts'

export type Touched = Pick<Plan, 'window' | 'whole' | 'edges'>

/** `spans` are condensed and not empty. */
export function bucketsOf(grid: Grid, spans: readonly Span[], maxBuckets: number): Touched | Bypass {
  const whole: Interval[] = []
  const partial: Interval[] = []
  for (const span of spans) {
    const [first, last] = [bucketAt(grid, span.from), bucketAt(grid, span.to - 1)]
    const run = {
      from: startOf(grid, first) < span.from ? first + 1 : first,
      to: endOf(grid, last) > span.to ? last : last + 1,
    }
    if (run.from < run.to) whole.push(run)
    if (run.from > first) partial.push({ from: first, to: first + 1 })
    if (run.to === last) partial.push({ from: last, to: last + 1 })
  }
  const buckets = uniteAll(partial, nothing)
  if (countOf(whole) + countOf(buckets) > maxBuckets) return { bypass: 'too_many_buckets' }
  const window = { from: bucketAt(grid, spans[0]!.from), to: bucketAt(grid, spans.at(-1)!.to - 1) + 1 }
  if (buckets.length === 0) return { window, whole }
  return { window, whole, edges: edgesOf(grid, spans, buckets) }
}

function edgesOf(grid: Grid, spans: readonly Span[], buckets: readonly Interval[]): Edges {
  const parts = clip(grid, spans, buckets)
  return { buckets, parts: parts.map(({ from, to }) => `${from}/${to}`).join(','), isStorable: true }
}

/** The requested spans inside the buckets of `intervals`, which are in time order. */
export function clip(grid: Grid, spans: readonly Span[], intervals: readonly Interval[]): readonly Span[] {
  const times = intervals.map(({ from, to }) => ({ from: startOf(grid, from), to: startOf(grid, to) }))
  return condense(intersectAll(spans, times))
}
