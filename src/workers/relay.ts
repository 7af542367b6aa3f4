/**
 * Observation in a thread that serves requests: events are gathered and sent in batches to the main thread, which
 * counts, logs and records them as if they were its own. A main thread that falls far behind gets no more until it has
 * caught up: events that are dropped by then are counted.
 */
import type { Clock } from '../core/clock.ts'
import type { CutReason } from '../core/decision.ts'
import { SingleTimer } from '../core/single-timer.ts'
import type { Log, LogFields } from '../telemetry/log.ts'
import type { OriginFetch } from '../telemetry/metrics.ts'
import { recordOf } from '../telemetry/record.ts'
import { type BackendHooks, type Observer, originFetchOf, type Telemetry } from '../telemetry/telemetry.ts'
import { type RecordColumns, RecordWriter, recordsIn } from './record-columns.ts'

export interface Batch {
  readonly kind: 'batch'
  readonly records: RecordColumns
  readonly fetches: readonly OriginFetch[]
  /** Connections that were closed because of a limit. */
  readonly cuts: ReadonlyMap<CutReason, number>
  /** Requests that were not reported since the last batch. */
  readonly leftOut: number
}

type TopicState = Parameters<Log['change']>[1]

export interface Topic {
  readonly kind: 'topic'
  readonly topic: string
  readonly state: TopicState
  readonly fields: LogFields
}

export interface RelayOptions {
  readonly clock: Clock
  readonly send: (message: Batch | Topic) => void
}

const everyMs = 100
/** A batch that is this long does not wait. */
const longBatch = 512
/** Batches that the main thread may be behind. */
const maxUntaken = 64

export class Relay implements Observer {
  readonly metrics: Observer['metrics'] = {
    /** Findings of shadow mode are sent separately. */
    observeVerify: () => {},
    observeCut: (reason) => {
      this.#cuts.set(reason, (this.#cuts.get(reason) ?? 0) + 1)
      this.#timer.start(everyMs)
    },
  }
  readonly log: Observer['log']
  readonly #options: RelayOptions
  readonly #timer: SingleTimer
  readonly #records = new RecordWriter(longBatch)
  #fetches: OriginFetch[] = []
  #cuts = new Map<CutReason, number>()
  #untaken = 0
  #leftOut = 0

  constructor(options: RelayOptions) {
    this.#options = options
    this.#timer = new SingleTimer(options.clock, () => this.flush())
    this.log = {
      // The main thread logs these events, too.
      line: () => {},
      change: (topic, state, fields = {}) => options.send({ kind: 'topic', topic, state, fields }),
    }
  }

  hooks(backend: string): BackendHooks {
    return {
      observe: (visit) => {
        if (this.#untaken >= maxUntaken) this.#leftOut++
        else this.#records.add(recordOf(backend, visit))
        if (this.#records.count === longBatch) this.flush()
        this.#timer.start(everyMs)
      },
      onFetch: (fetched) => {
        this.#fetches.push(originFetchOf(backend, fetched))
        this.#timer.start(everyMs)
      },
    }
  }

  /** A thread has no stores of its own. */
  storeHook(): () => void {
    return () => {}
  }

  /** The main thread has taken a batch. */
  taken(): void {
    this.#untaken--
  }

  flush(): void {
    if (this.#records.count + this.#fetches.length + this.#cuts.size + this.#leftOut === 0) return
    this.#untaken++
    this.#options.send({
      kind: 'batch',
      records: this.#records.drain(),
      fetches: this.#fetches,
      cuts: this.#cuts,
      leftOut: this.#leftOut,
    })
    this.#fetches = []
    this.#cuts = new Map()
    this.#leftOut = 0
  }
}

/** The main thread's side. */
export function observeBatch(telemetry: Telemetry, { records, fetches, cuts, leftOut }: Batch): void {
  for (const record of recordsIn(records)) telemetry.observe(record)
  for (const fetch of fetches) telemetry.metrics.observeFetch(fetch)
  for (const [reason, count] of cuts) telemetry.metrics.observeCut(reason, count)
  if (leftOut > 0) {
    telemetry.log.line('warn', 'some requests were served without metrics and logs', {
      requests: leftOut,
    })
  }
}
