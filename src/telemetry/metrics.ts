/**
 * Metrics in Prometheus' text format. Counting is arithmetic in flat arrays; labels come from closed lists, so that their
 * number is bounded whatever clients send. Rendering goes family by family: the caller may let others in between.
 */
import type { Clock } from '../core/clock.ts'
import { type CutReason, cutReasons, type Outcome, outcomes } from '../core/decision.ts'
import { type ClaimCounters, leaseResults } from '../engine/cell-claims.ts'
import type { VerifyResult } from '../engine/shadow/log.ts'
import type { StoreOperation } from '../stores/figures.ts'
import { BackendFigures } from './backend-figures.ts'
import { type Family, headOf, sample } from './exposition.ts'
import { families } from './families.ts'
import { type FleetFigures, fleetFamilies } from './fleet-families.ts'
import { ageBounds, durationBounds, Histograms } from './histograms.ts'
import { type OriginStatus, phases } from './labels.ts'
import type { ProcessFigures } from './process-figures.ts'
import { type QuotaFigures, quotaFamilies } from './quota-families.ts'
import { bucketsOf, type RequestRecord } from './record.ts'
import { segmentFamilies, type WatchedSegments } from './segment-families.ts'
import { type LearnedFigures, stalenessFamilies } from './staleness-families.ts'
import { type NamedStore, StoreTimes, storeFamilies } from './store-families.ts'
import { type UpstreamHealth, upstreamFamily } from './upstream-family.ts'

/** Figures that other modules keep; read when metrics are rendered. An absent source is not shown. */
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

export interface MetricsOptions {
  readonly clock: Clock
  readonly version: string
  readonly sources?: MetricSources
}

/** A query to the database for the cache that is over. */
export interface OriginFetch {
  readonly backend: string
  readonly status: OriginStatus
  /** Length of the requested interval. */
  readonly intervalMs: number
  /** From sending the query to the end of its response. */
  readonly durationMs: number
}

/** The figures of all backends together, since the start. */
export interface MetricTotals {
  readonly requests: Readonly<Partial<Record<Outcome, number>>>
  readonly buckets: { readonly cache: number; readonly origin: number }
  /** To the database. */
  readonly queries: number
  /** Queries that ended with a 5xx, a timeout or no connection. */
  readonly failedQueries: number
  /** Requests per bound of `durationBounds`, then those beyond. */
  readonly durations: readonly number[]
}

/** Databases are configured, not sent; still, their number is bounded. */
const maxBackends = 64

export class Metrics {
  readonly #options: MetricsOptions
  readonly #backends = new Map<string, BackendFigures>()
  readonly #phases = new Histograms(durationBounds, phases.length)
  readonly #ages = new Histograms(ageBounds, 1)
  readonly #storeTimes = new StoreTimes()
  /** Bytes from cache and database; milliseconds requested and fetched; joined. */
  readonly #bytes = new Float64Array(2)
  readonly #intervalMs = new Float64Array(2)
  readonly #cuts = new Map(Object.keys(cutReasons).map((reason) => [reason, 0]))
  #joined = 0
  #reload: { isOk: boolean; succeededAt: number }

  constructor(options: MetricsOptions) {
    this.#options = options
    this.#reload = { isOk: true, succeededAt: options.clock.now() }
  }

  observe(record: RequestRecord): void {
    this.#backend(record.backend).observe(record)
    this.#observePhases(record)
    this.#observeBytes(record)
    if (record.ageSeconds !== undefined) this.#ages.observe(0, record.ageSeconds)
    if (record.isCollapsed) this.#joined++
    const windowMs = record.to - record.from
    this.#intervalMs[0]! += windowMs
    if (record.isForwarded) this.#intervalMs[1]! += windowMs
  }

  observeFetch({ backend, status, intervalMs, durationMs }: OriginFetch): void {
    this.#backend(backend).countOrigin(status, durationMs)
    this.#intervalMs[1]! += intervalMs
  }

  observeVerify(backend: string, result: VerifyResult): void {
    this.#backend(backend).countVerified(result)
  }

  /** `count` connections were closed because of a limit. */
  observeCut(reason: CutReason, count = 1): void {
    this.#cuts.set(reason, this.#cuts.get(reason)! + count)
  }

  observeStore(store: string, operation: StoreOperation, ms: number): void {
    this.#storeTimes.observe(store, operation, ms / 1000)
  }

  noteReload(isOk: boolean): void {
    const succeededAt = isOk ? this.#options.clock.now() : this.#reload.succeededAt
    this.#reload = { isOk, succeededAt }
  }

  /** Shows a database before its first request: a counter that appears with a value of 1 has no rate. */
  announce(backend: string): void {
    this.#backend(backend)
  }

  announceStore(store: string): void {
    this.#storeTimes.announce(store)
  }

  /** Requests answered since the start, by outcome. */
  counts(): Record<Outcome, number> {
    const totals = Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as Record<Outcome, number>
    for (const backend of this.#backends.values()) backend.addTo(totals)
    return totals
  }

  totals(): MetricTotals {
    const backends = [...this.#backends.values()]
    const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
    const durations = new Array<number>(durationBounds.length + 1).fill(0)
    for (const backend of backends) backend.addDurations(durations)
    return {
      requests: this.counts(),
      buckets: {
        cache: sum(backends.map(({ bucketCounts }) => bucketCounts[0]!)),
        origin: sum(backends.map(({ bucketCounts }) => bucketCounts[1]!)),
      },
      queries: sum(backends.map(({ queries }) => queries)),
      failedQueries: sum(backends.map(({ failedQueries }) => failedQueries)),
      durations,
    }
  }

  /** One text per family; concurrent counts show in the families that follow. */
  *render(): Iterable<string> {
    const backends = [...this.#backends.values()]
    yield family(families.requests, ...backends.map((each) => each.requests()))
    yield family(families.duration, ...backends.map((each) => each.durations()))
    yield family(
      families.phase,
      ...phases.map((phase, i) => this.#phases.lines(families.phase.name, i, ['phase', phase])),
    )
    yield family(families.buckets, ...backends.map((each) => each.buckets()))
    yield family(families.resultBytes, ...this.#pair(families.resultBytes, 'source', this.#bytes))
    yield family(families.origin, ...backends.map((each) => each.origin()))
    yield family(families.originDuration, ...backends.map((each) => each.latency.durations()))
    yield family(families.savedQueries, ...backends.map((each) => each.latency.savedQueries()))
    yield family(families.savedSeconds, ...backends.map((each) => each.latency.savedSeconds()))
    yield family(families.objects, ...backends.map((each) => each.objects()))
    yield family(families.unstored, ...backends.map((each) => each.unstored()))
    yield family(families.interval, ...this.#intervals())
    yield family(families.age, this.#ages.lines(families.age.name, 0, []))
    yield single(families.joined, this.#joined)
    yield family(families.verify, ...backends.map((each) => each.verified()))
    const cuts = [...this.#cuts].map(([reason, count]) =>
      sample(families.cut.name, ['reason', reason], count),
    )
    yield family(families.cut, ...cuts)
    yield* this.#fromSources()
    yield single(families.reloadOk, this.#reload.isOk ? 1 : 0)
    yield single(families.reloadTime, this.#reload.succeededAt / 1000)
    const { version } = this.#options
    yield family(families.build, sample(families.build.name, ['version', version, 'node', nodeVersion], 1))
  }

  #backend(name: string): BackendFigures {
    return this.#backends.get(name) ?? this.#newBackend(name)
  }

  #newBackend(name: string): BackendFigures {
    const label = this.#backends.size < maxBackends ? name : 'other'
    const figures = this.#backends.get(label) ?? new BackendFigures(label)
    this.#backends.set(label, figures)
    return figures
  }

  #observePhases(record: RequestRecord): void {
    const { stepMs, key, planMs, lookupMs, fetchMs, totalMs } = record
    const all = this.#phases
    if (stepMs > 0) all.observe(0, planMs / 1000)
    if (key !== undefined) all.observe(1, lookupMs / 1000)
    if (fetchMs > 0) all.observe(2, fetchMs / 1000)
    all.observe(3, Math.max(0, totalMs - planMs - lookupMs - fetchMs) / 1000)
  }

  #observeBytes(record: RequestRecord): void {
    const cached = bucketsOf(record, 'cache')
    const all = cached + bucketsOf(record, 'origin')
    // Whole answers have no buckets.
    const isKept = record.endpoint !== undefined && (record.outcome === 'hit' || record.outcome === 'stale')
    const share = all === 0 ? (isKept ? 1 : 0) : cached / all
    const isOwn = record.outcome === 'refused' || record.outcome === 'error'
    if (isOwn) return
    this.#bytes[0]! += record.bytes * share
    this.#bytes[1]! += record.bytes * (1 - share)
  }

  #pair({ name }: Family, label: string, values: Float64Array): string[] {
    return ['cache', 'origin'].map((source, i) => sample(name, [label, source], values[i]!))
  }

  #intervals(): string[] {
    return ['asked', 'fetched'].map((kind, i) =>
      sample(families.interval.name, ['kind', kind], this.#intervalMs[i]! / 1000),
    )
  }

  *#fromSources(): Iterable<string> {
    const { stores, leases, memory, flights, requestsInFlight, segments, learned, fleet, traces, process } =
      this.#options.sources ?? {}
    const { quotas, upstreams } = this.#options.sources ?? {}
    if (requestsInFlight !== undefined) yield single(families.inFlight, requestsInFlight())
    if (flights !== undefined) yield single(families.flights, flights())
    if (memory !== undefined) {
      const { used, limit } = memory()
      yield single(families.memoryUsed, used) + single(families.memoryLimit, limit)
    }
    if (stores !== undefined) yield storeFamilies(stores(), this.#storeTimes)
    const counters = leases?.()
    if (counters !== undefined)
      yield family(
        families.leases,
        ...leaseResults.map((result) => sample(families.leases.name, ['result', result], counters[result])),
      )
    if (upstreams !== undefined) yield upstreamFamily(upstreams())
    const watched = segments?.() ?? []
    if (watched.length > 0) yield segmentFamilies(watched.slice(0, maxBackends))
    const learning = learned?.() ?? []
    if (learning.length > 0) yield stalenessFamilies(learning.slice(0, maxBackends))
    if (quotas !== undefined) yield quotaFamilies(quotas().slice(0, maxBackends))
    const nodes = fleet?.()
    if (nodes !== undefined) yield fleetFamilies(nodes)
    const spans = traces?.()
    if (spans !== undefined)
      yield single(families.spansSent, spans.sent) + single(families.spansDropped, spans.dropped)
    if (process !== undefined) yield processFamilies(process())
  }
}

const nodeVersion = process.versions.node

const family = (head: Family, ...samples: string[]): string => headOf(head) + samples.join('')

const single = (of: Family, value: number): string => headOf(of) + sample(of.name, [], value)

const processFamilies = (figures: ProcessFigures): string =>
  single(families.cpu, figures.cpuSeconds) +
  single(families.started, figures.startedAt / 1000) +
  single(families.resident, figures.residentBytes) +
  single(families.heap, figures.heapBytes) +
  single(families.external, figures.externalBytes) +
  single(families.lagP50, figures.lagSeconds.p50) +
  single(families.lagP99, figures.lagSeconds.p99) +
  single(families.lagMax, figures.lagSeconds.max)
