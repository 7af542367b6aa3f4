/** The same request for fewer buckets: of a bucket that was asked for in part, that part. Nothing is ever widened. */
import type { Interval } from '../../core/interval.ts'
import type { WireRequest } from '../backend.ts'
import { clip } from './buckets.ts'
import type { DruidPlan } from './druid-plan.ts'

export function narrow(plan: DruidPlan, intervals: readonly Interval[]): WireRequest {
  return { ...plan.request, body: plan.rewrite(clip(plan.grid, plan.spans, intervals)) }
}
