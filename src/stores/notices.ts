/**
 * When a key in memory has to be compared with the shared store again, because another node may have fetched newer
 * buckets that are still fresh here. An engine with pub/sub reports which buckets changed; besides, every key that is
 * in use is compared once per period. A key that was not read for longer is compared before it is served.
 */
import { BoundedMap } from '../core/bounded-map.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import { hullOf, type Interval } from '../core/interval.ts'
import type { Key } from '../core/key.ts'

export interface DueComparison {
  /** The buckets that another node has announced; undefined where nothing is known but the time. */
  readonly changed: Interval | undefined
  /** Requests wait for it, unless it is slow. */
  readonly isOverdue: boolean
}

interface Notice {
  readonly comparedAt: EpochMs
  readonly changed?: Interval
  /** The last comparison had no result. */
  readonly hasFailed?: boolean
}

/** A key that is forgotten counts as compared when it is next seen: that delays one comparison by a period. */
const maxKeys = 50_000
/** Where changes are announced, comparing by time only makes up for lost messages. */
const announcedFactor = 6

export class Notices {
  readonly #clock: Clock
  readonly #periodMs: number
  readonly #keys = new BoundedMap<Key, Notice>({ maxEntries: maxKeys })

  constructor(clock: Clock, noticeMs: number, areAnnounced: boolean) {
    this.#clock = clock
    this.#periodMs = areAnnounced ? announcedFactor * noticeMs : noticeMs
  }

  announce(key: Key, interval: Interval): void {
    const notice = this.#keys.get(key)
    if (notice === undefined) return
    this.#keys.set(key, { ...notice, changed: hullWith(interval, notice), hasFailed: false })
  }

  /** The far store did not tell what it has of these buckets: they are compared again after a period, news or not. */
  failed(key: Key, interval: Interval): void {
    const notice = this.#keys.get(key)
    if (notice === undefined) return
    const hasFailed = notice.changed === undefined || notice.hasFailed === true
    this.#keys.set(key, { ...notice, changed: hullWith(interval, notice), hasFailed })
  }

  /** Called with every request for a key; undefined while there is nothing to do. */
  due(key: Key): DueComparison | undefined {
    const now = this.#clock.now()
    const notice = this.#keys.get(key)
    const age = now - (notice?.comparedAt ?? now)
    if (notice === undefined) this.#keys.set(key, { comparedAt: now })
    const isAnnounced = notice?.changed !== undefined && notice.hasFailed !== true
    if (!isAnnounced && age < this.#periodMs) return undefined
    this.#keys.set(key, { comparedAt: now })
    return { changed: notice?.changed, isOverdue: age >= 2 * this.#periodMs }
  }
}

const hullWith = (interval: Interval, { changed = interval }: Notice): Interval => hullOf([interval, changed])
