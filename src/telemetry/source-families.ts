/** The figures that other modules keep: read when metrics are rendered. */
import { type ClaimCounters, leaseResults } from '../engine/cell-claims.ts'
import { type Family, familyOf, single } from './exposition.ts'
import { families } from './families.ts'
import { type NodeState, nodeStates } from './labels.ts'
import type { ProcessFigures } from './process-figures.ts'
import { type QuotaFigures, quotaFamilies } from './quota-families.ts'
import { type LearnedFigures, stalenessFamilies } from './staleness-families.ts'
import { type NamedStore, type StoreTimes, storeFamilies } from './store-families.ts'

/** An absent source is not shown. */
export interface MetricSources {
  stores?(): readonly NamedStore[]
  leases?(): Readonly<ClaimCounters>
  memory?(): { readonly used: number; readonly limit: number }
  flights?(): number
  requestsInFlight?(): number
  upstreams?(): readonly UpstreamHealth[]
  segments?(): readonly WatchedSegments[]
  /** Of backends with a staleness budget. */
  learned?(): readonly LearnedFigures[]
  quotas?(): readonly QuotaFigures[]
  /** Undefined where no store is shared with other nodes. */
  fleet?(): FleetFigures | undefined
  traces?(): { readonly sent: number; readonly dropped: number } | undefined
  process?(): ProcessFigures
}

/** Of one URL of a database. */
export interface UpstreamHealth {
  readonly backend: string
  /** As configured, without credentials. */
  readonly url: string
  readonly isHealthy: boolean
}

/** Of one database whose segments are watched. */
export interface WatchedSegments {
  readonly backend: string
  readonly isTrusted: boolean
  /** Since the last good look; since the start, where there was none. */
  readonly ageSeconds: number
  readonly segments: number
  readonly marked: number
}

/** Of the nodes that share a store. */
export interface FleetFigures {
  readonly nodes: Readonly<Record<NodeState, number>>
  /** Every shared store could be read and written at the last heartbeat. */
  readonly isConnected: boolean
}

/** Databases are configured, not sent; still, their number is bounded. */
export const maxBackends = 64

export function* sourceFamilies(sources: MetricSources, times: StoreTimes): Iterable<string> {
  const { stores, memory, flights, requestsInFlight, upstreams, quotas, process } = sources
  if (requestsInFlight !== undefined) yield single(families.inFlight, requestsInFlight())
  if (flights !== undefined) yield single(families.flights, flights())
  if (memory !== undefined) {
    const { used, limit } = memory()
    yield single(families.memoryUsed, used) + single(families.memoryLimit, limit)
  }
  if (stores !== undefined) yield storeFamilies(stores(), times)
  const counters = sources.leases?.()
  if (counters !== undefined) yield leaseFamily(counters)
  if (upstreams !== undefined) yield upstreamFamily(upstreams())
  const watched = sources.segments?.() ?? []
  if (watched.length > 0) yield segmentFamilies(watched.slice(0, maxBackends))
  const learning = sources.learned?.() ?? []
  if (learning.length > 0) yield stalenessFamilies(learning.slice(0, maxBackends))
  if (quotas !== undefined) yield quotaFamilies(quotas().slice(0, maxBackends))
  const nodes = sources.fleet?.()
  if (nodes !== undefined) yield fleetFamilies(nodes)
  const spans = sources.traces?.()
  if (spans !== undefined)
    yield single(families.spansSent, spans.sent) + single(families.spansDropped, spans.dropped)
  if (process !== undefined) yield processFamilies(process())
}

const leaseFamily = (counters: Readonly<ClaimCounters>): string =>
  familyOf(families.leases, leaseResults, (result) => [[result], counters[result]])

const upstreamFamily = (all: readonly UpstreamHealth[]): string =>
  familyOf(families.upstreamUp, all, ({ backend, url, isHealthy }) => [[backend, url], isHealthy ? 1 : 0])

function segmentFamilies(watched: readonly WatchedSegments[]): string {
  const each = (of: Family, value: (one: WatchedSegments) => number): string =>
    familyOf(of, watched, (one) => [[one.backend], value(one)])
  return (
    each(families.segmentsTrusted, ({ isTrusted }) => (isTrusted ? 1 : 0)) +
    each(families.segmentsAge, ({ ageSeconds }) => ageSeconds) +
    each(families.segmentsWatched, ({ segments }) => segments) +
    each(families.segmentsMarked, ({ marked }) => marked)
  )
}

const fleetFamilies = ({ nodes, isConnected }: FleetFigures): string =>
  familyOf(families.fleetNodes, nodeStates, (state) => [[state], nodes[state]]) +
  single(families.fleetConnected, isConnected ? 1 : 0)

const processFamilies = (figures: ProcessFigures): string =>
  single(families.cpu, figures.cpuSeconds) +
  single(families.started, figures.startedAt / 1000) +
  single(families.resident, figures.residentBytes) +
  single(families.heap, figures.heapBytes) +
  single(families.external, figures.externalBytes) +
  single(families.lagP50, figures.lagSeconds.p50) +
  single(families.lagP99, figures.lagSeconds.p99) +
  single(families.lagMax, figures.lagSeconds.max)
