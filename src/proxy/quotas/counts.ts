/** The decisions of one backend's quota since the start. Limits are counted by name, clients are not. */
import type { ProxyLimit } from './terms.ts'

type LimitCounts = Readonly<Record<ProxyLimit, number>>

export interface QuotaCounts {
  /** Requests and queries that were permitted. */
  readonly permits: number
  /** Those of them that were not counted, because the store did not answer. */
  readonly degraded: number
  readonly refused: LimitCounts
  /** Requests that would have been refused without `dryRun`. */
  readonly dryRun: LimitCounts
}
