/** All observers: one call per request, one per query to the database, and none of them delays a request. */
import { startOf } from '../core/grid.ts'
import type { FetchResult } from '../engine/fetch.ts'
import type { FetchOver } from '../engine/trip.ts'
import type { StoreOperation } from '../stores/figures.ts'
import { DecisionLog } from './decision-log.ts'
import { type OriginStatus, statusClass } from './labels.ts'
import { Log, type LogOptions } from './log.ts'
import { Metrics, type MetricsOptions, type OriginFetch } from './metrics.ts'
import { type RequestRecord, recordOf, type Visit } from './record.ts'
import { Recorder } from './recorder.ts'
import { TopShapes } from './shapes.ts'

export interface TelemetryOptions extends MetricsOptions {
  readonly log: Omit<LogOptions, 'clock'>
}

/** Called with the events of databases, stores and requests while they are served. */
export interface Observer {
  hooks(backend: string): BackendHooks
  storeHook(store: string): (operation: StoreOperation, ms: number) => void
  readonly metrics: Pick<Metrics, 'observeVerify' | 'observeCut'>
  readonly log: Pick<Log, 'line' | 'change'>
}

/** The hooks of one database: for its Handler and its IntervalCache. */
export interface BackendHooks {
  observe(visit: Visit): void
  onFetch(fetched: FetchOver): void
}

export class Telemetry implements Observer {
  readonly metrics: Metrics
  readonly recorder = new Recorder()
  readonly shapes = new TopShapes()
  readonly log: Log
  readonly #decisions: DecisionLog

  constructor({ clock, version, sources, log }: TelemetryOptions) {
    this.metrics = new Metrics({ clock, version, ...(sources && { sources }) })
    this.log = new Log({ clock, ...log })
    this.#decisions = new DecisionLog(this.log, clock)
  }

  hooks(backend: string): BackendHooks {
    this.metrics.announce(backend)
    return {
      observe: (visit) => this.observe(recordOf(backend, visit)),
      onFetch: (fetched) => this.metrics.observeFetch(originFetchOf(backend, fetched)),
    }
  }

  /** A request whose answer is over, in whatever thread. */
  observe(record: RequestRecord): void {
    this.metrics.observe(record)
    this.recorder.add(record)
    this.shapes.observe(record)
    this.#decisions.observe(record)
  }

  /** For the measurement of the operations of one store. */
  storeHook(store: string): (operation: StoreOperation, ms: number) => void {
    this.metrics.announceStore(store)
    return (operation, ms) => this.metrics.observeStore(store, operation, ms)
  }
}

export function originFetchOf(backend: string, fetched: FetchOver): OriginFetch {
  const { result, intervals, grid, durationMs } = fetched
  const intervalMs = intervals.reduce((sum, { from, to }) => sum + startOf(grid, to) - startOf(grid, from), 0)
  return { backend, status: originStatus(result), intervalMs, durationMs }
}

function originStatus(result: FetchResult): OriginStatus {
  switch (result.kind) {
    case 'refused':
      return statusClass(result.response.status)
    case 'broken':
      if (result.reason === 'database_error') return '5xx'
      if (result.reason === 'queue_full') return 'abandoned'
      return result.reason === 'database_timeout' ? 'timeout' : 'unreachable'
    case 'abandoned':
      return 'abandoned'
    default:
      return '2xx'
  }
}
