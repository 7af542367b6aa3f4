/**
 * Rows of the registry as last read, for a limited time; absent rows are cached too. A read concerns one key: requests
 * for other keys never wait for it, and requests for the same key share it. A row that is in use is read again in the
 * background before its TTL ends, so that requests hardly ever wait. Where the store fails, the last read stays in
 * force.
 */
import { BoundedMap } from '../core/bounded-map.ts'
import type { Clock } from '../core/clock.ts'
import type { MaybePromise } from '../stores/store.ts'

export interface ResolutionCacheOptions<T> {
  readonly clock: Pick<Clock, 'elapsed'>
  /** A change made elsewhere is seen after this long at the latest. */
  readonly ttlMs: number
  readonly maxEntries: number
  readonly read: (key: string) => MaybePromise<T | undefined>
}

interface Entry<T> {
  value: T | undefined
  /** False while the first read is under way. */
  isKnown: boolean
  /** When the read that found the value was sent, plus the TTL. On the scale of `elapsed`. */
  until: number
  refreshAt: number
  pending: Promise<T | undefined> | undefined
}

/** Of the TTL; from then on a use of the row starts a read in the background. */
const refreshShare = 0.75
/** After a read failed, the next is sent this much later, where there is a value to go on with. */
const retryMs = 1000
/** Values are kept for so many TTLs after their time, for when the store fails. */
const keptTtls = 10

export class ResolutionCache<T> {
  readonly #options: ResolutionCacheOptions<T>
  readonly #entries: BoundedMap<string, Entry<T>>

  constructor(options: ResolutionCacheOptions<T>) {
    this.#options = options
    this.#entries = new BoundedMap({ maxEntries: options.maxEntries })
  }

  get size(): number {
    return this.#entries.size
  }

  /** At once where the row is known. Rejects where the store fails and nothing was read before; never throws. */
  get(key: string): MaybePromise<T | undefined> {
    const entry = this.#entries.get(key)
    const now = this.#options.clock.elapsed()
    if (entry === undefined || !entry.isKnown || now >= entry.until) return this.#read(key, entry)
    if (now >= entry.refreshAt && entry.pending === undefined) void this.#read(key, entry)
    return entry.value
  }

  /** A change that was made here. It overrides the results of reads in progress. */
  set(key: string, value: T | undefined): void {
    this.#keep(key, value, this.#options.clock.elapsed())
  }

  /** The next request reads the row. */
  forget(key: string): void {
    this.#entries.delete(key)
  }

  #read(key: string, known: Entry<T> | undefined): MaybePromise<T | undefined> {
    if (known?.pending !== undefined) return known.pending
    const startedAt = this.#options.clock.elapsed()
    let reading: MaybePromise<T | undefined>
    try {
      reading = this.#options.read(key)
    } catch (error) {
      reading = Promise.reject(error)
    }
    if (!(reading instanceof Promise)) return this.#keep(key, reading, startedAt)
    const entry = known ?? this.#begin(key)
    entry.pending = reading.then(
      (value) => this.#finish(key, entry, { value, startedAt }),
      (error) => this.#fail(key, entry, error),
    )
    // There may be no waiter: a background read that fails must not be an unhandled rejection.
    entry.pending.catch(() => {})
    return entry.pending
  }

  #begin(key: string): Entry<T> {
    const entry = { value: undefined, isKnown: false, until: 0, refreshAt: 0, pending: undefined }
    this.#entries.set(key, entry)
    return entry
  }

  /** The entry is another one, or gone, where the row was changed here while it was being read. */
  #finish(
    key: string,
    entry: Entry<T>,
    { value, startedAt }: { value: T | undefined; startedAt: number },
  ): MaybePromise<T | undefined> {
    entry.pending = undefined
    const current = this.#entries.get(key)
    if (current === entry) return this.#keep(key, value, startedAt)
    return current?.isKnown === true ? current.value : value
  }

  #fail(key: string, entry: Entry<T>, error: unknown): T | undefined {
    entry.pending = undefined
    const current = this.#entries.get(key)
    if (!entry.isKnown && current === entry) this.#entries.delete(key)
    if (current?.isKnown !== true) throw error
    const retryAt = this.#options.clock.elapsed() + retryMs
    current.until = Math.max(current.until, retryAt)
    current.refreshAt = Math.max(current.refreshAt, retryAt)
    return current.value
  }

  #keep(key: string, value: T | undefined, startedAt: number): T | undefined {
    const { ttlMs } = this.#options
    this.#purge()
    this.#entries.set(key, {
      ...{ value, isKnown: true, pending: undefined },
      ...{ until: startedAt + ttlMs, refreshAt: startedAt + refreshShare * ttlMs },
    })
    return value
  }

  /** Entries are in the order of their expiry: every new one makes room for two at most. */
  #purge(): void {
    const end = this.#options.clock.elapsed() - keptTtls * this.#options.ttlMs
    for (let looked = 0; looked < 2; looked++) {
      const [oldest] = this.#entries
      if (oldest === undefined || oldest[1].pending !== undefined || oldest[1].until > end) return
      this.#entries.delete(oldest[0])
    }
  }
}
