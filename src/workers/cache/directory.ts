/**
 * The main thread's side of one cache for several threads: reads and writes of the threads go to the stores, and
 * threads that hold a key are notified when its content in memory changes. No thread waits for another: a thread that
 * is notified late queries the database once more, and returns no wrong answer, because every bucket carries its clock.
 */
import type { Key } from '../../core/key.ts'
import { readNear } from '../../stores/peek.ts'
import type { Found, Store } from '../../stores/store.ts'
import { clip, countBuckets } from '../../stores/tile.ts'
import { fromShared, toShared } from '../shared-pane.ts'
import type { SharedSlot, StoreName, ToMainThread, ToReplica } from './messages.ts'

export interface DirectoryOptions {
  /** Reports every change to `changed`. */
  readonly memory: Store
  /** Memory, or a far store with that memory in front of it. */
  storeOf(name: StoreName): Store
  /** Called with the size of memory that came from another thread. */
  readonly onBytes?: (bytes: number) => void
}

interface ServedThread {
  readonly send: (message: ToReplica) => void
  /** The last write of the thread that was seen. */
  written: number
  isClosed: boolean
}

export class Directory {
  readonly #options: DirectoryOptions
  readonly #threads = new Map<number, ServedThread>()
  /** Which threads hold a key that memory has. */
  readonly #holders = new Map<Key, Set<ServedThread>>()
  readonly #revisions = new Map<Key, number>()
  readonly #dirty = new Set<Key>()
  #lastRevision = 0
  #isFlushing = false

  constructor(options: DirectoryOptions) {
    this.#options = options
  }

  open(threadId: number, send: ServedThread['send']): void {
    this.#threads.set(threadId, { send, written: 0, isClosed: false })
  }

  /** The thread is no more; nothing is sent to it from now on. */
  close(threadId: number): void {
    const thread = this.#threads.get(threadId)
    this.#threads.delete(threadId)
    if (thread === undefined) return
    thread.isClosed = true
    for (const [key, holders] of this.#holders) {
      holders.delete(thread)
      if (holders.size === 0) this.#holders.delete(key)
    }
  }

  /** Called by the memory store. */
  changed(key: Key): void {
    this.#dirty.add(key)
    if (this.#isFlushing) return
    this.#isFlushing = true
    // A write is a removal and an addition: threads that hold the key are notified of the outcome only.
    queueMicrotask(() => this.flush())
  }

  receive(threadId: number, message: ToMainThread): void {
    const thread = this.#threads.get(threadId)
    if (thread === undefined) return
    if (message.kind === 'write') this.#write(thread, message)
    else if (message.kind === 'read') void this.#read(thread, message)
    else if (message.kind === 'remove') void this.#remove(thread, message)
    else this.#use(message)
  }

  /** Whether memory has a newer revision of a key than a thread has seen; 0 for none. */
  isNews(key: Key, seen: number): boolean {
    this.flush()
    const revision = this.#revisions.get(key)
    return revision !== undefined && revision !== seen
  }

  /** All threads that hold a changed key are notified when this returns. */
  flush(): void {
    this.#isFlushing = false
    for (const key of this.#dirty) {
      this.#dirty.delete(key)
      const slot = this.#slotOf(key, ++this.#lastRevision)
      if (slot === undefined) this.#revisions.delete(key)
      else this.#revisions.set(key, this.#lastRevision)
      for (const thread of this.#holders.get(key) ?? []) sendSlot(thread, key, slot)
      if (slot === undefined) this.#holders.delete(key)
    }
  }

  async #read(thread: ServedThread, message: ToMainThread & { kind: 'read' }): Promise<void> {
    const { ask, store, key, interval, stale } = message
    const found = await this.#found(store, (of) =>
      stale === undefined ? readNear(of, key, interval) : of.read(key, interval, stale),
    )
    if (thread.isClosed) return
    const held = this.#held(key)
    // Memory may be too small for panes of a far store, or for compressed panes.
    const isHeld =
      held !== undefined && countBuckets(clip(held.panes, interval)) >= countBuckets(found?.panes ?? [])
    if (isHeld) this.#hand(thread, key)
    const panes = isHeld || found === undefined ? [] : found.panes.map(toShared)
    thread.send({ kind: 'found', ask, panes, shape: found?.shape, isHeld })
  }

  /** Makes a thread a holder of a key that memory has. */
  #hand(thread: ServedThread, key: Key): void {
    this.flush()
    this.#hold(thread, key)
    sendSlot(thread, key, this.#slotOf(key, this.#revisions.get(key) ?? 0))
  }

  #write(thread: ServedThread, { write, store, key, pane, shape }: ToMainThread & { kind: 'write' }): void {
    this.#options.onBytes?.(pane.length)
    const landed = () => {
      thread.written = Math.max(thread.written, write)
      if (!thread.isClosed) this.#hold(thread, key)
      // Also where nothing changes: the thread waits for the result.
      this.#dirty.add(key)
      this.flush()
    }
    try {
      const kept = this.#options.storeOf(store).write(key, { pane: fromShared(pane, []), shape })
      // Compressed panes are unpacked first: until then the thread uses its own write.
      if (kept instanceof Promise) void kept.then(landed, landed)
      else landed()
    } catch {
      landed()
    }
  }

  async #remove(
    thread: ServedThread,
    { ask, store, key, interval, fetchedUntil }: ToMainThread & { kind: 'remove' },
  ): Promise<void> {
    const buckets = (await this.#found(store, (of) => of.remove(key, interval, fetchedUntil))) ?? 0
    this.flush()
    if (!thread.isClosed) thread.send({ kind: 'removed', ask, buckets })
  }

  /** For memory, reading a bucket is a use of its key. */
  #use({ store, keys }: ToMainThread & { kind: 'used' }): void {
    for (const key of keys) {
      const from = this.#held(key)?.panes[0]?.from
      void this.#found(store, (of) => {
        of.seen?.(key)
        return from === undefined ? undefined : readNear(of, key, { from, to: from + 1 })
      })
    }
  }

  /** A store that fails has nothing. */
  async #found<T>(store: StoreName, action: (store: Store) => T | Promise<T>): Promise<T | undefined> {
    try {
      return await action(this.#options.storeOf(store))
    } catch {
      return undefined
    }
  }

  #hold(thread: ServedThread, key: Key): void {
    const holders = this.#holders.get(key)
    if (holders === undefined) this.#holders.set(key, new Set([thread]))
    else holders.add(thread)
  }

  #slotOf(key: Key, revision: number): SharedSlot | undefined {
    const held = this.#held(key)
    return held && { revision, panes: held.panes.map(toShared), shape: held.shape }
  }

  /** No thread holds compressed panes: to threads they are absent until one of them reads them. */
  #held(key: Key): Found | undefined {
    return this.#options.memory.held?.(key)
  }
}

function sendSlot({ send, written }: ServedThread, key: Key, slot: SharedSlot | undefined): void {
  send({ kind: 'slot', key, slot, written })
}
