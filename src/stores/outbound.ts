/**
 * Which panes of a key are written to the far store, and when: a shape from its second sighting on, a big pane from the
 * fourth, and at once a pane that another node waits for. Ad hoc queries are not dashboards.
 */
import { BoundedMap } from '../core/bounded-map.ts'
import type { Clock } from '../core/clock.ts'
import type { Interval } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import { andThen, type MaybePromise } from '../core/maybe.ts'
import { measure, type Pane } from '../core/pane.ts'
import type { Far } from './far-queue.ts'
import { Sightings } from './sightings.ts'
import type { Entry, Store } from './store.ts'
import { everything } from './tile.ts'

export interface OutboundOptions {
  readonly clock: Clock
  readonly near: Store
  readonly far: Far
  /** See `TieredStoreOptions`. */
  readonly bigBytes: number
}

/** A shape that is not seen again for this long counts as new. */
const sightingPeriodMs = 12 * 3_600_000
const sightingsForFar = 2
const sightingsForBig = 4
/** A key that is forgotten goes to the far store only as its buckets are fetched again. */
const maxUnsent = 10_000

export class Outbound {
  readonly #options: OutboundOptions
  readonly #sightings: Sightings
  /**
   * Keys with buckets that are in memory only, and the sighting at which they go. Their number grows with new shapes, not
   * with shapes in use.
   */
  readonly #unsent = new BoundedMap<Key, number>({ maxEntries: maxUnsent })
  /** Keys of which the last write was dropped. It is made up for where another node waits, and by the next fetch. */
  readonly #dropped = new BoundedMap<Key, true>({ maxEntries: maxUnsent })
  /** Per key the writes that are on their way to the far store; resolves to whether it has them all. */
  readonly #onTheirWay = new Map<Key, Promise<boolean>>()

  constructor(options: OutboundOptions) {
    this.#options = options
    this.#sightings = new Sightings(options.clock, sightingPeriodMs)
  }

  /** Call once per request for the key. */
  see(key: Key): void {
    void this.#promote(key, this.#sightings.see(key))
  }

  /** Other nodes use the key, so that it is no one-off. */
  seenElsewhere(key: Key): MaybePromise<void> {
    return this.#promote(key, this.#sightings.see(key, sightingsForBig))
  }

  /** Call after an entry was written to memory. */
  offer(key: Key, entry: Entry): void {
    const seen = this.#sightings.count(key) || this.#sightings.see(key)
    const needed = this.#sightingsFor(entry.pane)
    if (seen >= needed) this.#send(key, entry)
    else this.#unsent.set(key, Math.min(needed, this.#unsent.get(key) ?? needed))
  }

  /** See `Store.share`. */
  async share(key: Key, interval: Interval, isAwaited: boolean): Promise<boolean> {
    const seen = this.#sightings.count(key)
    const isDropped = this.#dropped.has(key)
    const isComplete = seen >= sightingsForFar && !isDropped && !this.#unsent.has(key)
    if (isAwaited && seen < sightingsForBig) await this.seenElsewhere(key)
    if (isAwaited && isDropped) {
      const found = await this.#options.near.read(key, interval)
      for (const pane of found?.panes ?? []) this.#send(key, { pane, shape: found!.shape })
    }
    const written = this.#onTheirWay.get(key)
    return written === undefined ? isComplete : this.#options.far.hurry(key, written)
  }

  /** The buckets that are in memory so far go to the far store, unless they need more sightings or were sent before. */
  #promote(key: Key, seen: number): MaybePromise<void> {
    const due = this.#unsent.get(key)
    if (due === undefined || seen < due) return
    this.#unsent.delete(key)
    return andThen(this.#options.near.read(key, everything), (found) => {
      for (const pane of found?.panes ?? []) {
        const needed = this.#sightingsFor(pane)
        if (needed > seen) this.#unsent.set(key, needed)
        else if (needed >= due) this.#send(key, { pane, shape: found!.shape })
      }
    })
  }

  #sightingsFor(pane: Pane): number {
    return measure(pane) > this.#options.bigBytes ? sightingsForBig : sightingsForFar
  }

  #send(key: Key, entry: Entry): void {
    const before = this.#onTheirWay.get(key)
    const written = this.#options.far.enqueue(key, entry)
    const all =
      before === undefined ? written : Promise.all([before, written]).then((is) => is.every(Boolean))
    this.#onTheirWay.set(key, all)
    void all.then((isWritten) => {
      if (isWritten) this.#dropped.delete(key)
      else this.#dropped.set(key, true)
      if (this.#onTheirWay.get(key) === all) this.#onTheirWay.delete(key)
    })
  }
}
