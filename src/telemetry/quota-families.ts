/** The metrics of quotas and of queues in front of databases. Clients are never labels. */
import { counter, type Family, family, familyOf, gauge, type Sample } from './exposition.ts'
import { quotaLimits } from './labels.ts'

const backend = { backend: 'name of the backend' }
const limit = { limit: quotaLimits, mode: ['enforced', 'dry_run'] }

export const quotaMetrics = {
  quotaPermits: counter(
    'windowpane_quota_permits_total',
    'Requests, and queries to the database, that the quota of their client permitted. `degraded`: they were not counted, because the store that counts did not answer.',
    {
      labels: { ...backend, result: ['counted', 'degraded'] },
      example: 'sum by (backend) (rate(windowpane_quota_permits_total{result="degraded"}[5m]))',
    },
  ),
  quotaRefusals: counter(
    'windowpane_quota_refusals_total',
    'Requests, and queries to the database, that a limit refused, or would have refused without `quotas.dryRun`.',
    {
      labels: { ...backend, ...limit },
      example: 'sum by (backend, limit) (rate(windowpane_quota_refusals_total{mode="enforced"}[5m]))',
    },
  ),
  queueLength: gauge('windowpane_queue_length', 'Queries that wait in the queue for the database.', {
    labels: backend,
  }),
  queueWaited: counter('windowpane_queue_waited_total', 'Queries that had to wait in the queue.', {
    labels: backend,
  }),
  queueWait: counter(
    'windowpane_queue_wait_seconds_total',
    'Total waiting time of queries that have left the queue.',
    {
      labels: backend,
      example: 'sum by (backend) (rate(windowpane_queue_wait_seconds_total[5m]))',
    },
  ),
  queueRefused: counter(
    'windowpane_queue_refused_total',
    'Queries that were not sent: the queue was full, or they had waited too long.',
    { labels: backend, example: 'sum by (backend) (rate(windowpane_queue_refused_total[5m]))' },
  ),
} as const

type LimitCounts = Readonly<Record<(typeof quotaLimits)[number], number>>

/** The decisions of one backend's quota since the start. Limits are counted by name, clients are not. */
export interface QuotaCounts {
  /** Requests and queries that were permitted. */
  readonly permits: number
  /** Those of them that were not counted, because the store did not answer. */
  readonly degraded: number
  readonly refused: LimitCounts
  /** Requests that would have been refused without `dryRun`. */
  readonly dryRun: LimitCounts
}

/** The queue in front of one database. */
export interface QueueFigures {
  /** Queries that wait now. */
  readonly length: number
  /** Queries since the start that had to wait, and how long all of them together. */
  readonly waited: number
  readonly waitedMs: number
  readonly refused: number
}

export interface QuotaFigures {
  readonly backend: string
  readonly queue: QueueFigures
  /** Undefined where no client is limited. */
  readonly quota?: QuotaCounts | undefined
}

export function quotaFamilies(all: readonly QuotaFigures[]): string {
  const each = (of: Family, value: (one: QuotaFigures) => number): string =>
    familyOf(of, all, (one) => [[one.backend], value(one)])
  return (
    each(quotaMetrics.queueLength, ({ queue }) => queue.length) +
    each(quotaMetrics.queueWaited, ({ queue }) => queue.waited) +
    each(quotaMetrics.queueWait, ({ queue }) => queue.waitedMs / 1000) +
    each(quotaMetrics.queueRefused, ({ queue }) => queue.refused) +
    (all.some(({ quota }) => quota !== undefined) ? limitFamilies(all) : '')
  )
}

function limitFamilies(all: readonly QuotaFigures[]): string {
  const permits: Sample[] = []
  const refusals: Sample[] = []
  for (const { backend: name, quota } of all) {
    if (quota === undefined) continue
    permits.push([[name, 'counted'], quota.permits - quota.degraded], [[name, 'degraded'], quota.degraded])
    for (const each of quotaLimits) refusals.push([[name, each, 'enforced'], quota.refused[each]])
    for (const each of quotaLimits) refusals.push([[name, each, 'dry_run'], quota.dryRun[each]])
  }
  return family(quotaMetrics.quotaPermits, permits) + family(quotaMetrics.quotaRefusals, refusals)
}
