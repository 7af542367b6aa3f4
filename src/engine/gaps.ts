/** What of a request's buckets has to be fetched, by what a lookup found of them. */
import type { Backend, Plan } from '../backends/backend.ts'
import { type CoverageRun, gapOf, gapsOf } from '../core/coverage.ts'
import { hullOf, type Intervals, intersectAll, nothing, uniteAll } from '../core/interval.ts'

/** A query with more intervals costs the database more than the buckets between them. */
const maxIntervals = 256

/** Nothing on a full hit. */
export function gapsIn(plan: Plan, runs: readonly CoverageRun[], backend: Backend): Intervals {
  if (!backend.takesSeveralIntervals) {
    const gap = gapOf(runs)
    return gap === undefined ? nothing : [gap]
  }
  const gaps = uniteAll(gapsOf(runs), plan.edges?.buckets ?? nothing)
  return gaps.length <= maxIntervals ? gaps : intersectAll([hullOf(gaps)], askedBy(plan))
}

/** Every bucket that is in the answer, as a whole or in part. */
export const askedBy = ({ whole, edges }: Plan): Intervals =>
  edges === undefined ? whole : uniteAll(whole, edges.buckets)
