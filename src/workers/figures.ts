/** Figures of several threads as those of one process. */
import { type BackgroundCounts, noProbes, type ProbeCounts } from '../engine/learning/counts.ts'
import type { BackendRuntimeFigures } from '../proxy/assembly/backend-runtime.ts'
import { addQuotaCounts, type QuotaCounts } from '../proxy/quotas/counts.ts'
import type { UpstreamState } from '../proxy/upstream/endpoint.ts'
import type { QueueFigures } from '../proxy/upstream/slots.ts'
import type { WorkerFigures } from './messages.ts'

export const noFigures: WorkerFigures = {
  databases: new Map(),
  thread: undefined,
  spans: undefined,
}

const noBackground: BackgroundCounts = { sample: noProbes, sentinel: noProbes, refresh: noProbes }

/** Threads without a report yet count as idle. */
export function addUp(all: readonly (BackendRuntimeFigures | undefined)[]): BackendRuntimeFigures {
  const told = all.filter((figures) => figures !== undefined)
  const sum = (of: 'flights' | 'requests') => told.reduce((total, figures) => total + figures[of], 0)
  const byUrl = Map.groupBy(
    told.flatMap(({ upstreams }) => upstreams),
    ({ url }) => url,
  )
  return {
    flights: sum('flights'),
    requests: sum('requests'),
    upstreams: [...byUrl.values()].map((states) => states.reduce(worse)),
    queue: told.map(({ queue }) => queue).reduce(queuesOf, noQueue),
    quota: told.flatMap(({ quota }) => quota ?? []).reduce<QuotaCounts | undefined>(quotasOf, undefined),
    background: told.map(({ background }) => background).reduce(bothOf, noBackground),
  }
}

const noQueue: QueueFigures = { length: 0, waited: 0, waitedMs: 0, refused: 0 }

const queuesOf = (a: QueueFigures, b: QueueFigures): QueueFigures => ({
  length: a.length + b.length,
  waited: a.waited + b.waited,
  waitedMs: a.waitedMs + b.waitedMs,
  refused: a.refused + b.refused,
})

const quotasOf = (a: QuotaCounts | undefined, b: QuotaCounts): QuotaCounts =>
  a === undefined ? b : addQuotaCounts(a, b)

const bothOf = (a: BackgroundCounts, b: BackgroundCounts): BackgroundCounts => ({
  sample: countsOf(a.sample, b.sample),
  sentinel: countsOf(a.sentinel, b.sentinel),
  refresh: countsOf(a.refresh, b.refresh),
})

const countsOf = (a: ProbeCounts, b: ProbeCounts): ProbeCounts => ({
  same: a.same + b.same,
  changed: a.changed + b.changed,
  failed: a.failed + b.failed,
})

/** Each thread has its own connections: a server that one of them cannot reach is worth showing. */
const worse = (a: UpstreamState, b: UpstreamState): UpstreamState => {
  if (a.healthy !== b.healthy) return a.healthy ? b : a
  return b.failures > a.failures ? b : a
}
