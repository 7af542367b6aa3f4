/**
 * Metrics in Prometheus' text format. Counting is arithmetic in flat arrays; labels come from closed lists, so that their
 * number is bounded whatever clients send. Rendering goes family by family: the caller may let others in between.
 */
import type { Clock } from '../core/clock.ts'
import { type CutReason, cutReasons, type Outcome, outcomes } from '../core/decision.ts'
import type { VerifyResult } from '../engine/shadow/log.ts'
import type { StoreOperation } from '../stores/figures.ts'
import { BackendFigures } from './backend-figures.ts'
import { type Family, family, familyOf, familyOfLines, type Sample, single } from './exposition.ts'
import { families } from './families.ts'
import { ageBounds, durationBounds, Histograms } from './histograms.ts'
import { type OriginStatus, phases } from './labels.ts'
import { bucketsOf, type RequestRecord } from './record.ts'
import { type MetricSources, maxBackends, sourceFamilies } from './source-families.ts'
import { StoreTimes } from './store-families.ts'

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
    const each = (of: Family, samplesOf: (backend: BackendFigures) => readonly Sample[]): string =>
      family(of, backends.flatMap(samplesOf))
    const pair = (of: Family, values: readonly string[], numbers: Float64Array): string =>
      familyOf(of, numbers, (value, i) => [[values[i]!], value])
    yield each(families.requests, (backend) => backend.requests())
    const durationLines = backends.map((backend) => backend.durations())
    yield familyOfLines(families.duration, durationLines)
    const phaseLines = phases.map((phase, i) => this.#phases.lines(families.phase, i, [phase]))
    yield familyOfLines(families.phase, phaseLines)
    yield each(families.buckets, (backend) => backend.buckets())
    yield pair(families.resultBytes, ['cache', 'origin'], this.#bytes)
    yield each(families.origin, (backend) => backend.origin())
    const latencyLines = backends.map(({ latency, name }) => latency.durations(name))
    yield familyOfLines(families.originDuration, latencyLines)
    yield each(families.savedQueries, ({ name, latency }) => [[[name], latency.saved.queries]])
    yield each(families.savedSeconds, ({ name, latency }) => [[[name], latency.saved.seconds]])
    yield each(families.objects, (backend) => backend.objects())
    yield each(families.unstored, (backend) => backend.unstored())
    const seconds = this.#intervalMs.map((ms) => ms / 1000)
    yield pair(families.interval, ['asked', 'fetched'], seconds)
    yield familyOfLines(families.age, [this.#ages.lines(families.age, 0, [])])
    yield single(families.joined, this.#joined)
    yield each(families.verify, (backend) => backend.verified())
    yield familyOf(families.cut, this.#cuts, ([reason, count]) => [[reason], count])
    yield* sourceFamilies(this.#options.sources ?? {}, this.#storeTimes)
    yield single(families.reloadOk, this.#reload.isOk ? 1 : 0)
    yield single(families.reloadTime, this.#reload.succeededAt / 1000)
    yield family(families.build, [[[this.#options.version, process.versions.node], 1]])
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
}
