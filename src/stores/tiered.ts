/**
 * Memory in front of a far store that other nodes may share. `near` answers from memory at once. `read` queries the far
 * store, within a time limit, for the buckets that memory lacks or that the caller calls stale, and keeps newer ones. A
 * write is in memory before it returns and is sent to the far store afterwards by outbound.ts. The far store may be
 * slow, broken or down: requests do not notice.
 */
import type { Clock, EpochMs } from '../core/clock.ts'
import { inTime } from '../core/deadline.ts'
import { hullOf, type Interval, type Intervals, intersectAll } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import { allOf, andThen, type MaybePromise } from '../core/maybe.ts'
import { Far, type FarCounters } from './far-queue.ts'
import type { StoreFigures } from './figures.ts'
import { StoreGuard } from './guard.ts'
import { type DueComparison, Notices } from './notices.ts'
import { Outbound } from './outbound.ts'
import { peekInto } from './peek.ts'
import { notAhead } from './skew.ts'
import type { Entry, Found, ShapeRecord, Store } from './store.ts'
import { everything } from './tile.ts'
import { absentIn, countFetched, newerIn, united } from './two-tiers.ts'

export interface TieredStoreOptions {
  readonly clock: Clock
  /** Answers at once. */
  readonly near: Store
  readonly far: Store
  /** The far store's guard, where others use the store as well; by default one of its own, of 250 ms. */
  readonly guard?: StoreGuard
  /** Whether the content of the far store may be used now: its marks are known. Always, by default. */
  readonly isTrusted?: () => boolean
  /** Bytes that may be queued for writing; 32 MiB by default. */
  readonly maxQueuedBytes?: number
  /** Larger panes are written to the far store only from the fourth sighting on; 8 MiB by default. */
  readonly bigBytes?: number
  /** Buckets that another node has fetched anew are noticed within twice this time; a minute by default. */
  readonly noticeMs?: number
}

export interface TieredStore extends Store {
  /** `errors`: operations of the far store that failed or took too long. */
  readonly far: Readonly<FarCounters> & { readonly errors: number }
  share(key: Key, interval: Interval, isAwaited: boolean): Promise<boolean>
  /** The state of the far store, from its own figures and its queue. */
  farFigures(): StoreFigures
  /** Resolves when all writes so far have reached the far store or were dropped. */
  idle(): Promise<void>
  /** Closes the far store alone, within the time of one write: others use the near one. */
  closeFar(): Promise<void>
}

export function tieredStore(options: TieredStoreOptions): TieredStore {
  return new Tiered(options)
}

/** More runs than this are read at once, together with the buckets between them. */
const maxFarReads = 4
/** The longest that a request waits for a comparison: the copy in memory is better than none. */
const maxCompareMs = 500
/** In place of a result of the far store: it failed, was late, or is not asked at the moment. */
const unread = Symbol('unread')
/** The timeout of one step of a listing: pages of a large store are slow, and no request waits for them. */
const listingTimeoutMs = 10_000

class Tiered implements TieredStore {
  readonly name: string
  readonly #clock: Clock
  readonly #near: Store
  readonly #far: Far
  readonly #farStore: Store
  readonly #guard: StoreGuard
  readonly #isTrusted: () => boolean
  readonly #outbound: Outbound
  /** Only where the far store can detect writes by other nodes. */
  readonly #notices: Notices | undefined
  /** Comparisons under way that every read of the key waits for. */
  readonly #overdue = new Map<Key, Promise<void>>()
  /** Reads of the far store that are under way, by key, interval and removals before them. */
  readonly #reading = new Map<string, Promise<Found | undefined>>()
  /** Grows with every removal: data that the far store returned before one must not be stored after it. */
  #removals = 0
  #isClosed = false

  constructor(options: TieredStoreOptions) {
    const { clock, near, far, maxQueuedBytes = 32 * 1024 * 1024, bigBytes = 8 * 1024 * 1024 } = options
    this.name = `${near.name}+${far.name}`
    this.#clock = clock
    this.#near = near
    this.#farStore = far
    this.#guard = options.guard ?? new StoreGuard({ clock, timeoutMs: 250 })
    this.#isTrusted = options.isTrusted ?? (() => true)
    this.#far = new Far(far, this.#guard, maxQueuedBytes)
    this.#outbound = new Outbound({ clock, near, far: this.#far, bigBytes })
    if (far.hasNews !== undefined) {
      const areAnnounced = far.onNews?.((key, interval) => this.#notices?.announce(key, interval)) ?? false
      this.#notices = new Notices(clock, options.noticeMs ?? 60_000, areAnnounced)
    }
  }

  get far(): TieredStore['far'] {
    return { ...this.#far.counters, errors: this.#guard.failures }
  }

  farFigures(): StoreFigures {
    const own = this.#farStore.figures?.() ?? {}
    const { breaker, failures, trouble } = this.#guard
    const { state, transitions } = breaker
    return {
      ...own,
      health: trouble ?? own.health ?? { state: 'ok' },
      failures: (own.failures ?? 0) + failures,
      dropped: this.#far.counters.dropped,
      found: this.#far.counters.found,
      queuedBytes: this.#far.queuedBytes,
      breaker: { state, transitions },
    }
  }

  record(key: Key): MaybePromise<ShapeRecord | undefined> {
    return this.#near.record(key)
  }

  seen(key: Key): void {
    this.#outbound.see(key)
    // What is found now would not be used: the comparison stays due.
    if (this.#isClosed || !this.#isTrusted()) return
    const comparison = this.#notices?.due(key)
    if (comparison === undefined) return
    // Should it fail or be late, the copy in memory is still within its TTL.
    const compared = inTime(this.#compare(key, comparison), this.#clock, maxCompareMs).catch(() => {})
    if (!comparison.isOverdue) return
    this.#overdue.set(key, compared)
    void compared.then(() => this.#overdue.delete(key))
  }

  near(key: Key, interval: Interval): MaybePromise<Found | undefined> {
    const overdue = this.#overdue.get(key)
    return overdue === undefined
      ? this.#near.read(key, interval)
      : overdue.then(() => this.#near.read(key, interval))
  }

  read(key: Key, interval: Interval, stale?: Intervals): MaybePromise<Found | undefined> {
    return andThen(this.near(key, interval), (near) => this.#readOn(key, interval, { near, stale }))
  }

  /** Both tiers, bucket by bucket the newer; nothing is brought nearer. */
  peek(key: Key, interval: Interval): MaybePromise<Found | undefined> {
    const near = peekInto(this.#near, key, interval)
    const far =
      this.#isClosed || !this.#isTrusted()
        ? undefined
        : this.#far.ask((store) => peekInto(store, key, interval), undefined)
    const both = ([one, other]: readonly (Found | undefined)[]): Found | undefined =>
      other === undefined ? one : united(interval, { near: one, far: notAhead(other, this.#clock.now()) })
    return andThen(allOf([near, far]), both)
  }

  write(key: Key, entry: Entry): MaybePromise<boolean> {
    const kept = this.#near.write(key, entry)
    this.#outbound.offer(key, entry)
    return kept
  }

  share(key: Key, interval: Interval, isAwaited: boolean): Promise<boolean> {
    return this.#outbound.share(key, interval, isAwaited)
  }

  async remove(key: Key, interval?: Interval, fetchedUntil?: EpochMs): Promise<number> {
    this.#removals++
    const within = interval ?? everything
    await this.#far.forget(key, within, fetchedUntil)
    const near = (await this.#near.read(key, within))?.panes ?? []
    const far = (await this.#far.ask((store) => store.read(key, within), undefined))?.panes ?? []
    await this.#near.remove(key, interval, fetchedUntil)
    await this.#far.ask((store) => store.remove(key, interval, fetchedUntil), 0, 'remove')
    this.#removals++
    return countFetched([...near, ...far], fetchedUntil)
  }

  async *shapes(): AsyncIterable<readonly [Key, ShapeRecord]> {
    const listed = new Set<Key>()
    for await (const [key, shape] of this.#near.shapes()) {
      listed.add(key)
      yield [key, shape]
    }
    if (this.#guard.breaker.state !== 'closed') return
    try {
      for await (const [key, shape] of this.#listFar()) if (!listed.has(key)) yield [key, shape]
    } catch {
      this.#guard.failures++
    }
  }

  idle(): Promise<void> {
    return this.#far.idle()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    await this.closeFar()
    await this.#near.close()
  }

  async closeFar(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#far.close()
    await this.#farStore.close()
  }

  async *#listFar(): AsyncIterable<readonly [Key, ShapeRecord]> {
    const shapes = this.#farStore.shapes()
    const steps = Symbol.asyncIterator in shapes ? shapes[Symbol.asyncIterator]() : shapes[Symbol.iterator]()
    try {
      for (;;) {
        const step = await inTime(steps.next(), this.#clock, listingTimeoutMs)
        if (step.done === true) return
        yield step.value
      }
    } finally {
      // Not awaited: it may end only after a step that was too late.
      void Promise.resolve(steps.return?.()).catch(() => {})
    }
  }

  #readOn(
    key: Key,
    interval: Interval,
    { near, stale }: { near: Found | undefined; stale: Intervals | undefined },
  ): MaybePromise<Found | undefined> {
    const wanted = stale === undefined ? absentIn(near, interval) : intersectAll(stale, [interval])
    if (wanted.length === 0 || this.#isClosed || !this.#isTrusted()) return near
    const removals = this.#removals
    const use = (
      found: readonly (Found | undefined)[],
      near: Found | undefined,
    ): MaybePromise<Found | undefined> => {
      const isPurged = removals !== this.#removals
      if (isPurged) this.#notices?.failed(key, interval)
      const now = this.#clock.now()
      const known = found.flatMap((each) => (each === undefined ? [] : [notAhead(each, now)]))
      const far = isPurged ? undefined : newerIn(known, near)
      return far === undefined ? near : this.#keepNear(key, interval, { near, far })
    }
    const asked = wanted.length <= maxFarReads ? wanted : [hullOf(wanted)]
    const all = allOf(asked.map((run) => this.#readFar(key, run)))
    if (!(all instanceof Promise)) return use(all, near)
    // Meanwhile a fetch of this node, or another lookup, may have brought it into memory.
    return all.then((found) => andThen(this.#near.read(key, interval), (current) => use(found, current)))
  }

  /**
   * Concurrent lookups of one shape are one read: requests that waited for a flight of another node all read at once.
   */
  #readFar(key: Key, run: Interval): MaybePromise<Found | undefined> {
    const id = `${key} ${run.from} ${run.to} ${this.#removals}`
    const reading = this.#reading.get(id)
    if (reading !== undefined) return reading
    const read = this.#far.ask<Found | typeof unread | undefined>((store) => store.read(key, run), unread)
    const found = andThen(read, (each) => {
      if (each !== unread) return each
      this.#notices?.failed(key, run)
      return undefined
    })
    if (!(found instanceof Promise)) return found
    this.#reading.set(id, found)
    void found.then(() => this.#reading.delete(id))
    return found
  }

  /** Loads buckets that other nodes have fetched anew: all that memory holds of a key, or the announced ones. */
  async #compare(key: Key, { changed }: DueComparison): Promise<void> {
    const ask = async (store: Store): Promise<boolean | typeof unread> => store.hasNews?.(key) ?? false
    const hasNews = changed !== undefined || (await this.#far.ask(ask, unread))
    if (hasNews === unread) this.#notices?.failed(key, everything)
    if (hasNews !== true || this.#isClosed) return
    const near = await this.#near.read(key, changed ?? everything)
    if (near === undefined || near.panes.length === 0) return
    const held = { from: near.panes[0]!.from, to: near.panes.at(-1)!.to }
    await this.#readOn(key, held, { near, stale: [held] })
  }

  /** Keeps the far store's panes in memory, and answers from both. */
  #keepNear(
    key: Key,
    interval: Interval,
    both: { readonly near: Found | undefined; readonly far: Found },
  ): MaybePromise<Found | undefined> {
    this.#far.counters.found++
    void this.#outbound.seenElsewhere(key)
    const shape = both.near?.shape ?? both.far.shape
    const kept = both.far.panes.map((pane) => this.#near.write(key, { pane, shape }))
    // Memory may be too small for it: the answer is not.
    const answer = (isKept: readonly boolean[]): MaybePromise<Found | undefined> =>
      isKept.every(Boolean) ? this.#near.read(key, interval) : united(interval, both)
    return andThen(allOf(kept), answer)
  }
}
