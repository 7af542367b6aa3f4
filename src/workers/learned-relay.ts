/**
 * Sends the observations of a thread about the data to the learners of all other threads. They go to the main thread in
 * batches, which it passes on. A main thread that is far behind gets no more until it has caught up: events that are dropped
 * until then are counted.
 */
import type { Clock } from '../core/clock.ts'
import { SingleTimer } from '../core/single-timer.ts'
import type { LearnedEvent } from '../ttl/learned/learning.ts'

export interface NamedEvent {
  readonly backend: string
  readonly event: LearnedEvent
}

export interface LearnedBatch {
  readonly kind: 'learned'
  readonly events: readonly NamedEvent[]
  /** Events that were not sent since the last batch, by backend. */
  readonly dropped: ReadonlyMap<string, number>
}

export interface LearnedRelayOptions {
  readonly clock: Clock
  readonly send: (batch: LearnedBatch) => void
}

const everyMs = 100
/** A batch about this many buckets does not wait. */
const longBatch = 16_384
/** Batches that the main thread may be behind: a few megabytes. */
const maxUntaken = 16

export class LearnedRelay {
  readonly #options: LearnedRelayOptions
  readonly #timer: SingleTimer
  #events: NamedEvent[] = []
  #dropped = new Map<string, number>()
  #buckets = 0
  #untaken = 0

  constructor(options: LearnedRelayOptions) {
    this.#options = options
    this.#timer = new SingleTimer(options.clock, () => this.flush())
  }

  add(backend: string, event: LearnedEvent): void {
    if (this.#untaken >= maxUntaken) this.#dropped.set(backend, (this.#dropped.get(backend) ?? 0) + 1)
    else {
      this.#events.push({ backend, event })
      this.#buckets += event.kind === 'refetch' ? event.changed.length : 1
    }
    if (this.#buckets >= longBatch) this.flush()
    else this.#timer.start(everyMs)
  }

  /** The main thread has taken a batch. */
  taken(): void {
    this.#untaken--
    if (this.#dropped.size > 0) this.#timer.start(everyMs)
  }

  flush(): void {
    if (this.#events.length + this.#dropped.size === 0 || this.#untaken >= maxUntaken) return
    const { send } = this.#options
    this.#untaken++
    send({ kind: 'learned', events: this.#events, dropped: this.#dropped })
    this.#events = []
    this.#dropped = new Map()
    this.#buckets = 0
  }
}
