/**
 * Looking on in a thread that serves requests: what there is to tell is gathered and handed to the keeper in batches,
 * which counts, logs and records it as if it were its own. A keeper that falls far behind is not told more until it has
 * caught up: what is left out by then is counted.
 */
import type { Clock } from '../core/clock.ts'
import type { Log, LogFields } from './log.ts'
import type { OriginFetch } from './metrics.ts'
import { type RequestRecord, recordOf } from './record.ts'
import { type BackendHooks, type Onlooker, originFetchOf } from './telemetry.ts'

export interface Batch {
  readonly kind: 'batch'
  readonly records: readonly Told[]
  /** Texts of shapes, each once: they are most of what there is to tell. */
  readonly shapes: readonly string[]
  readonly fetches: readonly OriginFetch[]
  /** Requests that were not told of since the last batch. */
  readonly leftOut: number
}

/** A record with the place of its shape in the list, instead of the shape. */
export type Told = Omit<RequestRecord, 'shape'> & { readonly shape: number }

/** The records of a batch, as they were made. */
export const recordsIn = ({ records, shapes }: Batch): RequestRecord[] =>
  records.map((told) => ({ ...told, shape: shapes[told.shape]! }))

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
/** Batches that the keeper may be behind. */
const maxUntaken = 64

export class Relay implements Onlooker {
  /** What shadow mode finds out is told by itself. */
  readonly metrics = { observeVerify: () => {} }
  readonly log: Onlooker['log']
  readonly #options: RelayOptions
  #records: Told[] = []
  readonly #shapes = new Map<string, number>()
  #fetches: OriginFetch[] = []
  #untaken = 0
  #leftOut = 0
  #isWaiting = false

  constructor(options: RelayOptions) {
    this.#options = options
    this.log = {
      // The keeper does what these lines tell of too, and says so.
      line: () => {},
      change: (topic, state, fields = {}) => options.send({ kind: 'topic', topic, state, fields }),
    }
  }

  hooks(backend: string): BackendHooks {
    return {
      observe: (visit) => {
        if (this.#untaken >= maxUntaken) this.#leftOut++
        else if (this.#records.push(this.#told(recordOf(backend, visit))) >= longBatch) this.flush()
        this.#later()
      },
      onFetch: (fetched) => {
        this.#fetches.push(originFetchOf(backend, fetched))
        this.#later()
      },
    }
  }

  /** A thread has no stores of its own. */
  storeHook(): () => void {
    return () => {}
  }

  /** The keeper has taken a batch. */
  taken(): void {
    this.#untaken--
  }

  flush(): void {
    if (this.#records.length + this.#fetches.length + this.#leftOut === 0) return
    this.#untaken++
    this.#options.send({
      kind: 'batch',
      records: this.#records,
      shapes: [...this.#shapes.keys()],
      fetches: this.#fetches,
      leftOut: this.#leftOut,
    })
    this.#records = []
    this.#shapes.clear()
    this.#fetches = []
    this.#leftOut = 0
  }

  #told(record: RequestRecord): Told {
    const place = this.#shapes.get(record.shape) ?? this.#shapes.size
    this.#shapes.set(record.shape, place)
    return { ...record, shape: place }
  }

  #later(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#options.clock.after(everyMs, () => {
      this.#isWaiting = false
      this.flush()
    })
  }
}
