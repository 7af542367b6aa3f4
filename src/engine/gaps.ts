/** What of a request's buckets has to be fetched, by what a lookup found of them. */
import type { Backend, Edges, Plan } from '../backends/backend.ts'
import { type CoverageRun, gapOf, gapsOf } from '../core/coverage.ts'
import { hullOf, type Intervals, intersectAll, nothing, uniteAll } from '../core/interval.ts'

/** A query with more intervals costs the database more than the buckets between them. */
const maxIntervals = 256

/** Nothing on a full hit. */
export function gapsIn(
  plan: Pick<Plan, 'whole' | 'edges'>,
  runs: readonly CoverageRun[],
  { takesSeveralIntervals }: Pick<Backend, 'takesSeveralIntervals'>,
): Intervals {
  const { edges } = plan
  if (edges === undefined && runs.every(isFresh)) return nothing
  if (!takesSeveralIntervals) {
    const gap = gapOf(runs)
    return [hullOf(withEdges(gap === undefined ? nothing : [gap], edges))]
  }
  const gaps = withEdges(gapsOf(runs), edges)
  return gaps.length <= maxIntervals ? gaps : intersectAll([hullOf(gaps)], askedBy(plan))
}

const isFresh = ({ state }: CoverageRun): boolean => state === 'fresh'

const withEdges = (gaps: Intervals, edges: Edges | undefined): Intervals =>
  edges === undefined ? gaps : uniteAll(gaps, edges.buckets)

/** Every bucket that is in the answer, as a whole or in part. */
export const askedBy = ({ whole, edges }: Pick<Plan, 'whole' | 'edges'>): Intervals =>
  edges === undefined ? whole : uniteAll(whole, edges.buckets)
