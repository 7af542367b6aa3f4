/**
 * The panes of a far store behind its guard, and the queue of writes to it: bounded, a few writes at a time so that the
 * store can batch them. No request waits for it. While the breaker is open writes are dropped, which costs a refetch.
 */
import type { EpochMs } from '../core/clock.ts'
import type { Interval } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import { type MaybePromise, orElse } from '../core/maybe.ts'
import { measure, type Pane } from '../core/pane.ts'
import type { StoreOperation } from './figures.ts'
import type { StoreGuard } from './guard.ts'
import type { Entry, Store } from './store.ts'
import { cutOut } from './tile.ts'

export interface FarCounters {
  /** Reads that brought buckets which memory had not, or had only older. */
  found: number
  /** Panes handed to the far store and kept by it. */
  written: number
  /** Panes that were not: the queue was full or closed, the store refused, or its breaker was open. */
  dropped: number
}

interface Job {
  readonly key: Key
  readonly entry: Entry
  readonly settle: (isWritten: boolean) => void
  /** Resolved when it leaves the queue, where a claim waits for it. */
  begun?: PromiseWithResolvers<void>
}

const writesAtOnce = 8

export class Far {
  readonly counters: FarCounters = { found: 0, written: 0, dropped: 0 }
  readonly #store: Store
  readonly #guard: StoreGuard
  readonly #maxQueuedBytes: number
  readonly #queue: Job[] = []
  #queuedBytes = 0
  readonly #writing = new Set<Promise<void>>()
  #isClosed = false

  constructor(store: Store, guard: StoreGuard, maxQueuedBytes: number) {
    this.#store = store
    this.#guard = guard
    this.#maxQueuedBytes = maxQueuedBytes
  }

  get queuedBytes(): number {
    return this.#queuedBytes
  }

  /** Runs an operation of the store; gives `otherwise` where it fails, is late, or must not go out now. */
  ask<T>(
    operation: (store: Store) => MaybePromise<T>,
    otherwise: T,
    kind: StoreOperation = 'read',
  ): MaybePromise<T> {
    return orElse(
      () => this.#guard.run(kind, () => operation(this.#store)),
      () => otherwise,
    )
  }

  /** Resolves to whether the store has it, once that is decided. */
  enqueue(key: Key, entry: Entry): Promise<boolean> {
    const isFull = this.#queuedBytes + measure(entry.pane) > this.#maxQueuedBytes
    if (isFull || this.#isClosed || !this.#guard.breaker.isAdmitting) {
      this.counters.dropped++
      return Promise.resolve(false)
    }
    return new Promise((settle) => {
      this.#requeue({ key, entry, settle })
      // After the answer, not before it.
      queueMicrotask(() => this.#fill())
    })
  }

  /**
   * Whether `written`, the writes of a key, succeed in time: within the budget of an operation after they left the queue,
   * where they go before writes that no claim waits for. Nodes that waited in vain would all query the database.
   */
  async hurry(key: Key, written: Promise<boolean>): Promise<boolean> {
    const own = this.#queue.filter((job) => job.key === key)
    for (const job of own) job.begun ??= Promise.withResolvers()
    this.#queue.sort((one, other) => Number(other.begun !== undefined) - Number(one.begun !== undefined))
    await this.#guard.wait(Promise.race([own.at(-1)?.begun?.promise, written]), undefined, 'write')
    return this.#guard.wait(written, false)
  }

  /** Removes a key's buckets from the queue; waits for writes in progress, unless they are slow. */
  async forget(key: Key, interval: Interval, fetchedUntil?: EpochMs): Promise<void> {
    for (const job of this.#takeAll()) {
      if (job.key === key) this.#requeueRest(job, cutOut([job.entry.pane], interval, fetchedUntil))
      else this.#requeue(job)
    }
    await this.#guard.wait(Promise.all(this.#writing), undefined)
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    do await Promise.all(this.#writing)
    while (this.#writing.size > 0)
  }

  /** Takes no more panes, and drops those that have not been written after the time that one write may take. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#guard.wait(this.idle(), undefined, 'write')
    for (const job of this.#takeAll()) this.#settle(job, false)
  }

  #takeAll(): Job[] {
    this.#queuedBytes = 0
    return this.#queue.splice(0)
  }

  #requeue(job: Job): void {
    this.#queue.push(job)
    this.#queuedBytes += measure(job.entry.pane)
  }

  #requeueRest(job: Job, [first, ...others]: readonly Pane[]): void {
    const { key, entry, settle } = job
    if (first === undefined) settle(false)
    else this.#requeue({ ...job, entry: { ...entry, pane: first } })
    for (const pane of others) this.#requeue({ key, entry: { ...entry, pane }, settle() {} })
  }

  /** Begins writes that wait; each that ends begins the next. */
  #fill(): void {
    while (this.#queue.length > 0 && this.#writing.size < writesAtOnce) {
      const job = this.#queue.shift()!
      this.#queuedBytes -= measure(job.entry.pane)
      job.begun?.resolve()
      const writing = this.#write(job).finally(() => {
        this.#writing.delete(writing)
        this.#fill()
      })
      this.#writing.add(writing)
    }
  }

  async #write(job: Job): Promise<void> {
    this.#settle(job, await this.ask((store) => store.write(job.key, job.entry), false, 'write'))
  }

  #settle({ settle }: Job, isWritten: boolean): void {
    if (isWritten) this.counters.written++
    else this.counters.dropped++
    settle(isWritten)
  }
}
