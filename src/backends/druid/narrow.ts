/** The same request for fewer buckets: for a partially requested bucket, that part. Nothing is ever widened. */
import type { Interval } from '../../core/interval.ts'
import type { WireRequest } from '../backend.ts'
import { clip } from './buckets.ts'
import type { DruidPlan, Span } from './druid-plan.ts'

export function narrow(plan: DruidPlan, intervals: readonly Interval[]): WireRequest {
  const { grid, spans, request } = plan
  const parts = clip(grid, spans, intervals)
  // Errors quote the text: the client should see its own where that can be sent.
  if (plan.isAsSent && isSame(parts, spans)) return request
  return { ...request, body: plan.rewrite(parts) }
}

const isSame = (a: readonly Span[], b: readonly Span[]): boolean =>
  a.length === b.length && a.every(({ from, to }, i) => from === b[i]!.from && to === b[i]!.to)
