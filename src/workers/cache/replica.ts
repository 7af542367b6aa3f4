/**
 * A thread's own view of the cache that the main thread holds: keys that it has are answered at once, from the same
 * bytes; other keys are requested from the main thread. A write can be read here before it returns, and is sent to the
 * main thread at once.
 */
import type { Budget } from '../../core/budget.ts'
import type { Clock, EpochMs } from '../../core/clock.ts'
import { type Interval, isEmpty } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import { andThen, type MaybePromise } from '../../core/maybe.ts'
import { measure, type Pane } from '../../core/pane.ts'
import type { Entry, Found, ShapeRecord, Store } from '../../stores/store.ts'
import { clip, gapIn, layLoosely } from '../../stores/tile.ts'
import { fromShared, type SharedPane, toShared } from '../shared-pane.ts'
import type { StoreName, ToMainThread, ToReplica } from './messages.ts'

export interface ReplicaOptions {
  readonly send: (message: ToMainThread) => void
  readonly clock: Clock
  /** For writes that the main thread has not taken over yet. */
  readonly budget: Budget
  /** The main thread would not keep a longer pane. */
  readonly maxPaneBytes: number
  /** Stores in which there may be more than memory has. */
  readonly farStores: ReadonlySet<StoreName>
  /** See `TieredStoreOptions`; undefined where no other node writes to a store. */
  readonly noticeMsOf?: (store: StoreName) => number | undefined
  /** Called with the size of memory that came from another thread. */
  readonly onBytes?: (bytes: number) => void
}

interface Held {
  readonly revision: number
  readonly panes: readonly Pane[]
  readonly shape: ShapeRecord
  seenAt: number
}

/** A write on its way to the main thread. */
interface Pending extends Entry {
  readonly write: number
  readonly bytes: number
}

type Reply = Extract<ToReplica, { ask: number }>

type Wanted = Pick<Extract<ToMainThread, { kind: 'read' }>, 'interval' | 'stale'>

const noBucket: Interval = { from: 0, to: 0 }

/** How late the main thread may learn which keys were used: this is its order of eviction. */
const reportUsedMs = 1000

export class Replica {
  readonly #options: ReplicaOptions
  readonly #held = new Map<Key, Held>()
  readonly #pending = new Map<Key, Pending[]>()
  readonly #asks = new Map<number, (reply: Reply) => void>()
  readonly #used = new Map<StoreName, Set<Key>>()
  /** Keys that were not requested for long: the main thread compares them with the far store before they are read. */
  readonly #overdue = new Map<Key, Promise<unknown>>()
  readonly #farStores: Set<StoreName>
  #lastAsk = 0
  #lastWrite = 0
  #isReportingUsed = false

  constructor(options: ReplicaOptions) {
    this.#options = options
    this.#farStores = new Set(options.farStores)
  }

  /** There may be more than memory has in this store. */
  addFarStore(name: StoreName): void {
    this.#farStores.add(name)
  }

  /** A store of the main thread, as this thread sees it. */
  store(name: StoreName): Store {
    return {
      name: 'replica',
      record: (key) => this.look(key, noBucket)?.shape,
      near: (key, interval) => this.#near(name, key, interval),
      seen: (key) => this.#seen(name, key),
      read: (key, interval, stale) =>
        stale === undefined
          ? this.#readAbsent(name, key, interval)
          : this.#read(name, key, { interval, stale }),
      peek: (key, interval) => this.look(key, interval),
      write: (key, entry) => this.write(name, key, entry),
      remove: (key, interval, fetchedUntil) => this.#remove(name, key, { interval, fetchedUntil }),
      shapes: () => [...this.#held].map(([key, { shape }]) => [key, shape] as const),
      // The main thread closes the stores.
      close() {},
    }
  }

  /** The revision of a key that this thread has seen; 0 for none. */
  revisionOf(key: Key): number {
    return this.#held.get(key)?.revision ?? 0
  }

  receive(message: ToReplica): void {
    if (message.kind === 'slot') this.#adoptSlot(message)
    else {
      const settle = this.#asks.get(message.ask)
      this.#asks.delete(message.ask)
      settle?.(message)
    }
  }

  /** The panes of this thread, or else those in the memory of the main thread. */
  #near(store: StoreName, key: Key, interval: Interval): MaybePromise<Found | undefined> {
    const near = () => this.look(key, interval) ?? this.#ask(store, key, { interval })
    return this.#overdue.get(key)?.then(near) ?? near()
  }

  /** The main thread queries its far store for the stale buckets. */
  #read(store: StoreName, key: Key, wanted: Wanted): MaybePromise<Found | undefined> {
    return this.#farStores.has(store) ? this.#ask(store, key, wanted) : this.look(key, wanted.interval)
  }

  /** Reads on in the far store where buckets are absent here. */
  #readAbsent(store: StoreName, key: Key, interval: Interval): MaybePromise<Found | undefined> {
    const readOn = (near: Found | undefined) => {
      const gap = gapIn(near?.panes ?? [], interval)
      return gap === undefined ? near : this.#read(store, key, { interval, stale: [gap] })
    }
    return andThen(this.#near(store, key, interval), readOn)
  }

  /** The panes here, including writes that the main thread has not confirmed yet. */
  look(key: Key, interval: Interval): Found | undefined {
    const held = this.#held.get(key)
    const pending = this.#pending.get(key)
    if (pending === undefined) return held && { panes: clip(held.panes, interval), shape: held.shape }
    const panes = pending.reduce<readonly Pane[]>(
      (laid, { pane }) => layLoosely(laid, pane),
      held?.panes ?? [],
    )
    return { panes: clip(panes, interval), shape: pending[pending.length - 1]!.shape }
  }

  write(store: StoreName, key: Key, { pane, shape }: Entry): boolean {
    const bytes = measure(pane)
    const { maxPaneBytes, budget, send } = this.#options
    if (bytes > maxPaneBytes || !budget.reserve(bytes)) return false
    const write = ++this.#lastWrite
    const pending = this.#pending.get(key)
    if (pending === undefined) this.#pending.set(key, [{ write, bytes, pane, shape }])
    else pending.push({ write, bytes, pane, shape })
    send({ kind: 'write', write, store, key, pane: toShared(pane), shape })
    return !isEmpty(pane)
  }

  async #remove(
    store: StoreName,
    key: Key,
    { interval, fetchedUntil }: { interval: Interval | undefined; fetchedUntil: EpochMs | undefined },
  ): Promise<number> {
    const reply = await this.#request((ask) => ({ kind: 'remove', ask, store, key, interval, fetchedUntil }))
    return reply.kind === 'removed' ? reply.buckets : 0
  }

  async #ask(store: StoreName, key: Key, wanted: Wanted): Promise<Found | undefined> {
    const { interval } = wanted
    const reply = await this.#request((ask) => ({ kind: 'read', ask, store, key, ...wanted }))
    if (reply.kind !== 'found' || reply.isHeld || reply.shape === undefined) return this.look(key, interval)
    return { panes: this.#bodiesOf(reply.panes, []), shape: frozen(reply.shape) }
  }

  #request(message: (ask: number) => ToMainThread): Promise<Reply> {
    const ask = ++this.#lastAsk
    return new Promise((resolve) => {
      this.#asks.set(ask, resolve)
      this.#options.send(message(ask))
    })
  }

  #adoptSlot({ key, slot, written }: ToReplica & { kind: 'slot' }): void {
    const known = [
      ...(this.#held.get(key)?.panes ?? []),
      ...(this.#pending.get(key) ?? []).map(({ pane }) => pane),
    ]
    this.#settle(key, written)
    if (slot === undefined) this.#held.delete(key)
    else {
      const { revision, panes, shape } = slot
      const seenAt = this.#held.get(key)?.seenAt ?? this.#options.clock.elapsed()
      this.#held.set(key, { revision, panes: this.#bodiesOf(panes, known), shape: frozen(shape), seenAt })
    }
  }

  /** Own writes that the main thread has seen are part of its current state, or were refused. */
  #settle(key: Key, written: number): void {
    const pending = this.#pending.get(key)
    if (pending === undefined) return
    const left = pending.filter(({ write }) => write > written)
    for (const { write, bytes } of pending) if (write <= written) this.#options.budget.release(bytes)
    if (left.length === 0) this.#pending.delete(key)
    else this.#pending.set(key, left)
  }

  #bodiesOf(panes: readonly SharedPane[], known: readonly Pane[]): Pane[] {
    const { onBytes } = this.#options
    return panes.map((shared) => {
      if (!known.some(({ body }) => body.id === shared.id)) onBytes?.(shared.length)
      return fromShared(shared, known)
    })
  }

  /** A key that is not held will be read from the main thread, and written: that must hear of the request first. */
  #seen(store: StoreName, key: Key): void {
    const held = this.#held.get(key)
    if (held !== undefined && this.#isOverdue(store, held)) this.#compare(store, key)
    else if (held !== undefined || this.#pending.has(key)) this.#use(store, key)
    else if (this.#farStores.has(store)) this.#sendUsed(store, [key])
  }

  #compare(store: StoreName, key: Key): void {
    this.#sendUsed(store, [key])
    const compared = this.#ask(store, key, { interval: noBucket })
    this.#overdue.set(key, compared)
    void compared.then(() => this.#overdue.delete(key))
  }

  #isOverdue(store: StoreName, held: Held): boolean {
    const { clock, noticeMsOf } = this.#options
    const noticeMs = noticeMsOf?.(store)
    if (noticeMs === undefined) return false
    const idleMs = clock.elapsed() - held.seenAt
    held.seenAt += idleMs
    return idleMs >= 2 * noticeMs
  }

  #use(store: StoreName, key: Key): void {
    let keys = this.#used.get(store)
    if (keys === undefined) {
      keys = new Set()
      this.#used.set(store, keys)
    }
    keys.add(key)
    if (this.#isReportingUsed) return
    this.#isReportingUsed = true
    this.#options.clock.after(reportUsedMs, () => this.#reportUsed())
  }

  #reportUsed(): void {
    this.#isReportingUsed = false
    for (const [store, keys] of this.#used) this.#sendUsed(store, [...keys])
    this.#used.clear()
  }

  #sendUsed(store: StoreName, keys: readonly Key[]): void {
    this.#options.send({ kind: 'used', store, keys })
  }
}

/** Every hit gets the same headers, and a copy from another thread is not frozen. */
function frozen(shape: ShapeRecord): ShapeRecord {
  Object.freeze(shape.headers)
  return shape
}
