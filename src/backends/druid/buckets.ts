/** Which buckets spans of instants touch: as a whole, or only in part. */
import { bucketAt, endOf, type Grid, startOf } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import type { Edges, Plan } from '../backend.ts'
import type { Span } from './druid-plan.ts'
import { condense } from './intervals.ts'
import type { Bypass } from './reasons.ts'

type Touched = Pick<Plan, 'window' | 'whole' | 'edges'>

/** `spans` are condensed and not empty. */
export function bucketsOf(grid: Grid, spans: readonly Span[], maxBuckets: number): Touched | Bypass {
  const whole: Interval[] = []
  const partial: Interval[] = []
  let count = 0
  for (const span of spans) {
    const [first, last] = [bucketAt(grid, span.from), bucketAt(grid, span.to - 1)]
    const run = {
      from: startOf(grid, first) < span.from ? first + 1 : first,
      to: endOf(grid, last) > span.to ? last : last + 1,
    }
    if (run.from < run.to) whole.push(run)
    if (run.from > first) addRun(partial, first)
    if (run.to === last) addRun(partial, last)
    count += Math.max(0, run.to - run.from)
    if (count > maxBuckets || partial.length > maxBuckets) return { bypass: 'too_many_buckets' }
  }
  const buckets = partial.reduce((sum, { from, to }) => sum + to - from, count)
  if (buckets > maxBuckets) return { bypass: 'too_many_buckets' }
  const window = { from: bucketAt(grid, spans[0]!.from), to: bucketAt(grid, spans.at(-1)!.to - 1) + 1 }
  if (partial.length === 0) return { window, whole }
  return { window, whole, edges: edgesOf(grid, spans, partial) }
}

/** Spans come in time order, and so do their ends: a bucket is the last one again, or the next, or a later one. */
function addRun(runs: Interval[], bucket: number): void {
  const last = runs.at(-1)
  if (last === undefined || bucket > last.to) runs.push({ from: bucket, to: bucket + 1 })
  else if (bucket === last.to) runs[runs.length - 1] = { from: last.from, to: bucket + 1 }
}

function edgesOf(grid: Grid, spans: readonly Span[], buckets: readonly Interval[]): Edges {
  const parts = clip(grid, spans, buckets)
  return { buckets, parts: parts.map(({ from, to }) => `${from}/${to}`).join(','), isStorable: true }
}

/** The requested spans inside the buckets of `intervals`, which are in time order. */
export function clip(grid: Grid, spans: readonly Span[], intervals: readonly Interval[]): readonly Span[] {
  const clipped: Span[] = []
  let next = 0
  for (const interval of intervals) {
    const [start, end] = [startOf(grid, interval.from), startOf(grid, interval.to)]
    while (next < spans.length && spans[next]!.to <= start) next++
    for (let i = next; i < spans.length && spans[i]!.from < end; i++) {
      const { from, to } = spans[i]!
      clipped.push({ from: Math.max(from, start), to: Math.min(to, end) })
    }
  }
  return condense(clipped)
}
