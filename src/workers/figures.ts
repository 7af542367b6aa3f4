/** Figures of several threads as those of one process. */

import { type BackgroundCounts, noProbes } from '../engine/learning/counts.ts'
import type { BackendRuntimeFigures } from '../proxy/assembly/backend-runtime.ts'
import type { UpstreamState } from '../proxy/upstream/endpoint.ts'
import type { QueueFigures } from '../telemetry/quota-families.ts'
import type { WorkerFigures } from './messages.ts'

export const noFigures: WorkerFigures = {
  databases: new Map(),
  thread: undefined,
  spans: undefined,
}

const noBackground: BackgroundCounts = { sample: noProbes, sentinel: noProbes, refresh: noProbes }
const noQueue: QueueFigures = { length: 0, waited: 0, waitedMs: 0, refused: 0 }

/** Threads without a report yet count as idle. */
export function addUp(all: readonly (BackendRuntimeFigures | undefined)[]): BackendRuntimeFigures {
  const told = all.filter((figures) => figures !== undefined)
  const sum = (of: 'flights' | 'requests') => told.reduce((total, figures) => total + figures[of], 0)
  const byUrl = Map.groupBy(
    told.flatMap(({ upstreams }) => upstreams),
    ({ url }) => url,
  )
  const quotas = told.flatMap(({ quota }) => quota ?? [])
  return {
    flights: sum('flights'),
    requests: sum('requests'),
    upstreams: [...byUrl.values()].map((states) => states.reduce(worse)),
    queue: told.map(({ queue }) => queue).reduce(bothOf, noQueue),
    quota: quotas.length === 0 ? undefined : quotas.reduce(bothOf),
    background: told.map(({ background }) => background).reduce(bothOf, noBackground),
  }
}

/** Adds the numbers of the same name, also of groups of them. */
export function bothOf<T extends object>(a: T, b: T): T {
  const sums = Object.entries(a).map(([name, value]) => {
    const other = b[name as keyof T]
    return [name, typeof value === 'number' ? value + (other as number) : bothOf(value, other as object)]
  })
  return Object.fromEntries(sums)
}

/** Each thread has its own connections: a server that one of them cannot reach is worth showing. */
const worse = (a: UpstreamState, b: UpstreamState): UpstreamState => {
  if (a.healthy !== b.healthy) return a.healthy ? b : a
  return b.failures > a.failures ? b : a
}
