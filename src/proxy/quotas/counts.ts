/** The decisions of one backend's quota since the start. Limits are counted by name, clients are not. */
import { quotaLimits } from '../../telemetry/labels.ts'
import type { ProxyLimit } from './terms.ts'

export type LimitCounts = Readonly<Record<ProxyLimit, number>>

export interface QuotaCounts {
  /** Requests and queries that were permitted. */
  readonly permits: number
  /** Those of them that were not counted, because the store did not answer. */
  readonly degraded: number
  readonly refused: LimitCounts
  /** Requests that would have been refused without `dryRun`. */
  readonly dryRun: LimitCounts
}

const none: LimitCounts = { requests: 0, cost: 0, points: 0 }

export const noQuotaCounts: QuotaCounts = {
  permits: 0,
  degraded: 0,
  refused: none,
  dryRun: none,
}

export function addQuotaCounts(a: QuotaCounts, b: QuotaCounts): QuotaCounts {
  return {
    permits: a.permits + b.permits,
    degraded: a.degraded + b.degraded,
    refused: addLimits(a.refused, b.refused),
    dryRun: addLimits(a.dryRun, b.dryRun),
  }
}

const addLimits = (a: LimitCounts, b: LimitCounts): LimitCounts =>
  Object.fromEntries(quotaLimits.map((name) => [name, a[name] + b[name]])) as Record<ProxyLimit, number>
