/** Panes in this process: a byte-bounded map; what was asked for little and long ago leaves first, see turnover.ts. */
import type { Budget } from '../core/budget.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import type { Interval } from '../core/interval.ts'
import { isEmpty, lengthOf } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import { clockOf, measure, objectOverhead, type Pane, slice } from '../core/pane.ts'
import type { EvictionReason, StoreFigures } from './figures.ts'
import type { Entry, Found, ShapeRecord, Store } from './store.ts'
import { clip, countBuckets, cutOut, layOver } from './tile.ts'
import { type Standing, Turnover } from './turnover.ts'

export interface MemoryStoreOptions {
  readonly clock: Clock
  /** What the store may hold, shared with whatever else reserves from it. */
  readonly budget: Budget
  /** Buckets are dropped this long after they were fetched; never earlier, unless memory is needed. */
  readonly retentionMs: number
  /** The most buckets kept of one key; the oldest leave first. */
  readonly maxBucketsPerShape: number
  /** Threads that hold objects of their own around the same bytes; 1 unless told. */
  readonly threads?: number
  /** Called when what is kept of a key is another thing than before. Must not come back in here. */
  readonly onChange?: (key: Key) => void
}

interface Slot {
  readonly panes: readonly Pane[]
  readonly shape: ShapeRecord
  readonly bytes: number
  readonly writtenAt: EpochMs
}

export function memoryStore(options: MemoryStoreOptions): Store {
  return new MemoryStore(options)
}

class MemoryStore implements Store {
  readonly name = 'memory'
  readonly #options: MemoryStoreOptions
  readonly #slots = new Turnover<Slot>()
  readonly #evicted = { memory: 0, expired: 0, surplus: 0 } satisfies Partial<Record<EvictionReason, number>>

  constructor(options: MemoryStoreOptions) {
    this.#options = options
    options.budget.onPressure(
      (bytes) => this.#evict(bytes),
      () => this.#slots.bytes,
    )
  }

  read(key: Key, interval: Interval): Found | undefined {
    // Who asks for no bucket wants to see the record, and asks for buckets at another time.
    return isEmpty(interval) ? this.peek(key, interval) : within(this.#slots.use(key), interval)
  }

  peek(key: Key, interval: Interval): Found | undefined {
    return within(this.#slots.get(key), interval)
  }

  write(key: Key, { pane, shape }: Entry): boolean {
    const now = this.#options.clock.now()
    this.#dropExpired(now)
    const old = this.#slots.get(key)
    const panes = this.#bounded(layOver(old?.panes ?? [], pane, now), now)
    // One key that would push out most of the others is not kept at all.
    const bytes = this.#slotBytes(key, panes, shape)
    if (bytes > this.#options.budget.limit / 4) return false
    const standing = this.#forget(key)
    return panes.length > 0 && this.#keep(key, { panes, shape, bytes, writtenAt: now }, standing)
  }

  remove(key: Key, interval?: Interval): number {
    const slot = this.#slots.get(key)
    if (slot === undefined) return 0
    const left = interval === undefined ? [] : cutOut(slot.panes, interval)
    const standing = this.#forget(key)
    if (left.length > 0) {
      const bytes = this.#slotBytes(key, left, slot.shape)
      this.#keep(key, { ...slot, panes: left, bytes }, standing)
    }
    return countBuckets(slot.panes) - countBuckets(left)
  }

  *shapes(): Iterable<readonly [Key, ShapeRecord]> {
    for (const [key, slot] of this.#slots.entries()) yield [key, slot.shape]
  }

  figures(): StoreFigures {
    return { entries: this.#slots.size, bytes: this.#slots.bytes, evictions: { ...this.#evicted } }
  }

  close(): void {
    for (const [key] of this.#slots.entries()) this.#forget(key)
  }

  #keep(key: Key, slot: Slot, standing: Standing | undefined): boolean {
    if (!this.#options.budget.reserve(slot.bytes)) return false
    this.#slots.add(key, slot, standing)
    this.#options.onChange?.(key)
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

  #slotBytes(key: Key, panes: readonly Pane[], shape: ShapeRecord): number {
    const { threads = 1 } = this.#options
    return slotBytes(key, panes, shape) + (threads - 1) * (slotOverhead + panes.length * objectOverhead)
  }

  #evict(bytes: number): void {
    for (const [key, slot] of this.#slots.free(bytes)) {
      this.#options.budget.release(slot.bytes)
      this.#options.onChange?.(key)
      this.#evicted.memory++
    }
  }

  /** Keys that nobody uses leave from the front; a key in use drops its expired panes when it is written. */
  #dropExpired(now: EpochMs): void {
    const { budget, retentionMs } = this.#options
    for (const [key, slot] of this.#slots.takeWhile(({ writtenAt }) => writtenAt + retentionMs <= now)) {
      budget.release(slot.bytes)
      this.#options.onChange?.(key)
      this.#evicted.expired++
    }
  }

  #bounded(panes: readonly Pane[], now: EpochMs): Pane[] {
    const oldest = now - this.#options.retentionMs
    const kept = panes.filter((pane) => hasClockAfter(pane, oldest))
    let surplus = countBuckets(kept) - this.#options.maxBucketsPerShape
    this.#evicted.surplus += Math.max(0, surplus)
    while (surplus > 0) {
      const first = kept.shift()!
      const rest = slice(first, { from: first.from + surplus, to: first.to })
      if (rest.from < rest.to) kept.unshift(rest)
      surplus -= lengthOf(first) - lengthOf(rest)
    }
    return kept
  }
}

function within(slot: Slot | undefined, interval: Interval): Found | undefined {
  return slot && { panes: clip(slot.panes, interval), shape: slot.shape }
}

/** Looks from the end, where the newest clock usually is. */
function hasClockAfter(pane: Pane, instant: EpochMs): boolean {
  for (let bucket = pane.to - 1; bucket >= pane.from; bucket--)
    if (clockOf(pane, bucket) > instant) return true
  return false
}

/** The slot, its map entry, its arrays and its record, as far as they do not grow with the texts in it. */
const slotOverhead = 768

function slotBytes(key: Key, panes: readonly Pane[], shape: ShapeRecord): number {
  let bytes = slotOverhead + key.length + shape.text.length + shape.query.length + shape.identity.length
  for (const text of shape.sources) bytes += text.length + 16
  for (const text of shape.headers) bytes += text.length + 16
  const bodies = new Set<Pane['body']>()
  for (const pane of panes) {
    if (!bodies.has(pane.body)) bytes += measure(pane)
    bodies.add(pane.body)
  }
  return bytes
}
