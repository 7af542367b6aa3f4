/**
 * Panes in this process: a byte-bounded map. Entries with few and old reads are evicted first, see turnover.ts. Entries
 * that were read before, but not lately, are compressed once memory is half full, see cooling.ts and thawing.ts.
 */
import type { Budget } from '../../core/budget.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import type { Pane } from '../../core/pane.ts'
import type { EvictionReason, StoreFigures } from '../figures.ts'
import type { StoreRules } from '../kind.ts'
import type { Entry, Found, MaybePromise, ShapeRecord, Store } from '../store.ts'
import { countBuckets, cutOut, everything, layOver } from '../tile.ts'
import { type ColdPanes, cutCold, type Packer, zstd } from './cold.ts'
import { Cooling } from './cooling.ts'
import { bounded, type Slot, slotOf, within } from './slot.ts'
import { type Thawed, Thawing } from './thawing.ts'
import { type Standing, Turnover } from './turnover.ts'

type Rules = Pick<StoreRules, 'clock' | 'retentionMs' | 'maxBucketsPerShape'>

export interface MemoryStoreOptions extends Rules {
  /** The memory that the store may use, shared with all other holders of the budget. */
  readonly budget: Budget
  /** Threads that hold objects of their own around the same bytes; 1 by default. */
  readonly threads?: number
  /** Fired after a key's content changed. Must not re-enter the store. */
  readonly onChange?: (key: Key) => void
  /** Panes that were read before are compressed after this time without a read; a minute by default. */
  readonly coldAfterMs?: number
  readonly packer?: Packer
}

export function memoryStore(options: MemoryStoreOptions): Store {
  return new MemoryStore(options)
}

class MemoryStore implements Store {
  readonly name = 'memory'
  readonly #options: MemoryStoreOptions
  readonly #slots = new Turnover<Slot>()
  readonly #cooling: Cooling
  readonly #thawing: Thawing
  readonly #evicted = { memory: 0, expired: 0, surplus: 0 } satisfies Partial<Record<EvictionReason, number>>
  #isClosed = false

  constructor(options: MemoryStoreOptions) {
    const { clock, budget, coldAfterMs = 60_000, packer = zstd } = options
    this.#options = options
    this.#thawing = new Thawing({ clock, budget, packer })
    this.#cooling = new Cooling({
      ...{ clock, budget, packer, coldAfterMs, slots: this.#slots },
      onCold: (slot, cold) => this.#replace(slot, this.#slotOf({ ...slot, panes: [], cold })),
    })
    budget.onPressure(
      (bytes) => this.#evict(bytes),
      () => this.#slots.bytes,
    )
  }

  record(key: Key): ShapeRecord | undefined {
    return this.#slots.get(key)?.shape
  }

  read(key: Key, interval: Interval): MaybePromise<Found | undefined> {
    const slot = this.#slots.use(key)
    if (slot === undefined) return undefined
    slot.usedAt = this.#options.clock.elapsed()
    slot.isWanted = true
    return this.#look(slot, interval, true)
  }

  peek(key: Key, interval: Interval): MaybePromise<Found | undefined> {
    const slot = this.#slots.get(key)
    return slot && this.#look(slot, interval, false)
  }

  held(key: Key): Found | undefined {
    const slot = this.#slots.get(key)
    return slot?.cold === undefined ? slot : undefined
  }

  write(key: Key, entry: Entry): MaybePromise<boolean> {
    const slot = this.#slots.get(key)
    if (slot?.cold === undefined) return this.#lay(slot?.panes ?? [], key, entry)
    return this.#opened(slot, slot.cold, (thawed) => {
      if (this.#slots.get(key) !== slot) return this.write(key, entry)
      return typeof thawed !== 'string' && this.#lay(thawed, key, entry)
    })
  }

  remove(key: Key, interval = everything, fetchedUntil = Number.POSITIVE_INFINITY): MaybePromise<number> {
    const slot = this.#slots.get(key)
    if (slot === undefined) return 0
    const waitedFor = this.#thawing.waitedFor(slot.cold)
    // A write may wait there, which was before this.
    if (waitedFor !== undefined) return waitedFor.then(() => this.remove(key, interval, fetchedUntil))
    const { panes, cold } = slot
    if (cold === undefined) return this.#leave(slot, cutOut(panes, interval, fetchedUntil))
    if (slot.writtenAt <= fetchedUntil) return this.#leave(slot, panes, cutCold(cold, interval))
    return this.#opened(slot, cold, (thawed) => {
      if (this.#slots.get(key) !== slot) return this.remove(key, interval, fetchedUntil)
      return typeof thawed === 'string' ? 0 : this.#leave(slot, cutOut(thawed, interval, fetchedUntil))
    })
  }

  *shapes(): Iterable<readonly [Key, ShapeRecord]> {
    for (const [key, slot] of this.#slots.entries()) yield [key, slot.shape]
  }

  figures(): StoreFigures {
    return { entries: this.#slots.size, bytes: this.#slots.bytes, evictions: { ...this.#evicted } }
  }

  close(): void {
    this.#isClosed = true
    this.#cooling.stop()
    for (const [key] of this.#slots.entries()) this.#forget(key)
  }

  /** Replaces a slot by its remaining panes. Returns the number of removed buckets. */
  #leave(slot: Slot, panes: readonly Pane[], cold?: ColdPanes): number {
    const before = countBuckets(slot.cold?.panes ?? slot.panes)
    const standing = this.#forget(slot.key)
    const rest = countBuckets(cold?.panes ?? panes)
    if (rest > 0) this.#keep(this.#slotOf({ ...slot, panes, cold }), standing)
    return before - rest
  }

  #lay(stored: readonly Pane[], key: Key, { pane, shape }: Entry): boolean {
    const { clock, budget } = this.#options
    const now = clock.now()
    this.#dropExpired(now)
    const { kept, surplus } = bounded(layOver(stored, pane, now), now, this.#options)
    this.#evicted.surplus += surplus
    const isWanted = this.#slots.get(key) !== undefined
    const usedAt = clock.elapsed()
    const slot = this.#slotOf({
      ...{ key, panes: kept, cold: undefined, shape, writtenAt: now, usedAt, isWanted },
    })
    // One key that would push out most of the others is not kept at all.
    if (slot.bytes > budget.limit / 4) return false
    const standing = this.#forget(key)
    return kept.length > 0 && this.#keep(slot, standing)
  }

  #slotOf(content: Parameters<typeof slotOf>[0]): Slot {
    return slotOf(content, this.#options.threads ?? 1)
  }

  #keep(slot: Slot, standing: Standing | undefined): boolean {
    if (this.#isClosed || !this.#options.budget.reserve(slot.bytes)) return false
    this.#slots.add(slot.key, slot, standing)
    this.#options.onChange?.(slot.key)
    this.#cooling.wake()
    return true
  }

  #forget(key: Key): Standing | undefined {
    const slot = this.#slots.get(key)
    if (slot === undefined) return undefined
    this.#options.budget.release(slot.bytes)
    const standing = this.#slots.delete(key)
    this.#options.onChange?.(key)
    return standing
  }

  #evict(bytes: number): void {
    for (const [key, slot] of this.#slots.free(bytes)) {
      this.#options.budget.release(slot.bytes)
      this.#options.onChange?.(key)
      this.#evicted.memory++
    }
  }

  /** Expired keys are removed from the front; a key in use drops its expired panes when it is written. */
  #dropExpired(now: EpochMs): void {
    const { budget, retentionMs } = this.#options
    for (const [key, slot] of this.#slots.takeWhile(({ writtenAt }) => writtenAt + retentionMs <= now)) {
      budget.release(slot.bytes)
      this.#options.onChange?.(key)
      this.#evicted.expired++
    }
  }

  /** Replaces a slot by one with the same buckets, unless the slot was written, removed or evicted meanwhile. */
  #replace(slot: Slot, other: Slot): void {
    const { budget, onChange } = this.#options
    const more = other.bytes - slot.bytes
    if (this.#slots.get(slot.key) !== slot || (more > 0 && !budget.reserve(more))) return
    const isThere = this.#slots.get(slot.key) === slot
    if (isThere) {
      this.#slots.replace(slot.key, other)
      onChange?.(slot.key)
      this.#cooling.wake()
    }
    // To make room for it, it may have had to leave itself.
    if (more < 0 || !isThere) budget.release(Math.abs(more))
  }

  /** Panes that have no room, or cannot be decompressed, are absent. */
  #look(slot: Slot, interval: Interval, isUse: boolean): MaybePromise<Found | undefined> {
    const { cold } = slot
    if (cold === undefined || !isTouched(cold.panes, interval)) return within(slot, interval)
    return this.#opened(slot, cold, (thawed) => {
      const now = this.#slots.get(slot.key)
      // Another waiter has written or decompressed it.
      if (now !== undefined && now !== slot) return this.#look(now, interval, isUse)
      if (typeof thawed === 'string') return undefined
      const warm = this.#slotOf({ ...slot, panes: thawed, cold: undefined })
      if (isUse) this.#replace(slot, warm)
      return within(warm, interval)
    })
  }

  #opened<T>(slot: Slot, cold: ColdPanes, use: (thawed: Thawed) => MaybePromise<T>): MaybePromise<T> {
    const checked = (thawed: Thawed): MaybePromise<T> => {
      if (thawed === 'broken' && this.#slots.get(slot.key) === slot) this.#forget(slot.key)
      return use(thawed)
    }
    const thawed = this.#thawing.panesOf(cold)
    return thawed instanceof Promise ? thawed.then(checked) : checked(thawed)
  }
}

const isTouched = (runs: readonly Interval[], { from, to }: Interval): boolean =>
  runs.some((run) => run.from < to && run.to > from)
