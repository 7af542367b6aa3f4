/**
 * Panes and cells in a local file (LMDB): the cache survives a restart. Reads are synchronous and copy out of the map;
 * writes are gathered into transactions of a worker thread, inside which the old rows are read and merged. The file is
 * bounded, checked value by value, and never trusted further than its checksums: damaged data reads as absent and shows
 * in `health`. Several processes of one machine may share it.
 */
import type { EpochMs } from '../../core/clock.ts'
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import { paneVersion } from '../../core/pane.ts'
import type { Cells } from '../cells.ts'
import type { StoreFigures } from '../figures.ts'
import type { Refused, StoreRules } from '../kind.ts'
import { versionBytes } from '../rows/row-key.ts'
import type { Entry, Found, ShapeRecord, Store } from '../store.ts'
import { cellCollection } from './cell-collection.ts'
import { LmdbCells } from './cells.ts'
import type { StoreFile } from './file.ts'
import { Health, type StoreCounters, type StoreHealth } from './health.ts'
import { Keys } from './keys.ts'
import { type Host, type Markers, systemHost } from './marker.ts'
import { type Opened, openFile } from './open.ts'
import { Panes } from './panes.ts'
import { type Disk, systemDisk } from './place.ts'
import { minuteOf, Records } from './records.ts'
import { SizeLimit } from './size-limit.ts'

export type { Refused } from '../kind.ts'
export type { StoreCounters, StoreHealth } from './health.ts'

type Rules = Pick<StoreRules, 'clock' | 'retentionMs' | 'maxBucketsPerShape' | 'settledAgeMs'>

export interface LmdbStoreOptions extends Rules {
  /** A directory of the store's own, on a local disk. */
  readonly directory: string
  /** The largest size of the file; beyond it the least recently used keys are evicted. */
  readonly maxBytes: number
  /** Disk space that is kept free for other programs; 256 MiB by default. */
  readonly reserveBytes?: number
  /** Bytes that may be queued for writing; more are dropped. 64 MiB by default. */
  readonly maxQueuedBytes?: number
  /** After this many crashes in a row the file is set aside; 2 by default. */
  readonly crashLimit?: number
  /** The outside world, for tests. */
  readonly outside?: {
    readonly library?: () => Promise<unknown>
    readonly host?: Host
    readonly disk?: Disk
    readonly paneVersion?: number
  }
}

export interface LmdbStore extends Store {
  readonly cells: Cells
  readonly health: StoreHealth
  readonly counters: Readonly<StoreCounters>
  room(): { readonly liveBytes: number; readonly fileBytes: number }
  /** Frees dead reader slots, removes expired keys and records the last use of keys. Runs by itself every minute. */
  maintain(): Promise<void>
}

/** Opens the store, or returns the reason why it cannot be used: the caller continues without it. */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<LmdbStore | Refused> {
  const { clock, directory, maxBytes, crashLimit = 2, outside = {} } = options
  const opened = await openFile({
    ...{ clock, directory, maxBytes, crashLimit },
    host: outside.host ?? systemHost,
    disk: outside.disk ?? systemDisk,
    ...(outside.library === undefined ? {} : { library: outside.library }),
  })
  if ('refused' in opened) return opened
  return new FileStore(options, opened)
}

const maintenanceMs = 60_000
/** A key's last use is noted again only when it is this many minutes old. */
const useGrain = 10
const maxUsesNoted = 10_000
const shapesAtOnce = 256
/** With less than this on the disk a write that failed did so for want of room. */
const almostNothing = 1024 * 1024

class FileStore implements LmdbStore {
  readonly name = 'lmdb'
  readonly cells: Cells
  readonly #options: LmdbStoreOptions
  readonly #file: StoreFile
  readonly #markers: Markers
  readonly #health: Health
  readonly #keys: Keys
  readonly #records: Records
  readonly #panes: Panes
  readonly #sizeLimit: SizeLimit
  readonly #collectCells: () => Promise<void>
  /** Keys that were read, until their use is noted in the file. */
  readonly #used = new Set<Key>()
  #closing: Promise<void> | undefined
  #timer = { cancel(): void {} }

  constructor(options: LmdbStoreOptions, opened: Opened) {
    const { clock, directory, maxBytes, retentionMs, reserveBytes = 256 * 1024 * 1024, outside } = options
    this.#options = options
    this.#file = opened.file
    this.#markers = opened.markers
    const disk = outside?.disk ?? systemDisk
    const isDiskFull = (): boolean => disk.freeBytes(directory) < almostNothing
    this.#health = new Health(clock, { isDiskFull, isCut: () => this.#file.isCut }, opened.setAside)
    this.#keys = new Keys(versionBytes(outside?.paneVersion ?? paneVersion))
    const { tables } = this.#file
    this.#records = new Records(tables, this.#keys)
    const parts = { file: this.#file, tables, keys: this.#keys, records: this.#records, health: this.#health }
    this.#panes = new Panes(parts, options)
    this.#sizeLimit = new SizeLimit({ clock, disk, directory, maxBytes, reserveBytes, retentionMs }, parts)
    this.cells = new LmdbCells({
      ...{ file: this.#file, health: this.#health, clock, markers: this.#markers },
      hasRoomFor: (bytes) => this.#health.isWritable && this.#sizeLimit.hasRoomForCells(bytes),
    })
    this.#collectCells = cellCollection(this.#file, clock)
    this.#schedule()
  }

  get health(): StoreHealth {
    return this.#health.value
  }

  get counters(): Readonly<StoreCounters> {
    return this.#health.counters
  }

  room(): { readonly liveBytes: number; readonly fileBytes: number } {
    return this.#health.attempt(() => this.#file.room()) ?? { liveBytes: 0, fileBytes: 0 }
  }

  figures(): StoreFigures {
    const { evictedKeys, expiredKeys, failures, damagedValues } = this.counters
    const { liveBytes, fileBytes } = this.room()
    const entries = this.#health.attempt(() => this.#file.tables.records.getStats().entryCount)
    return {
      ...(entries !== undefined && { entries }),
      ...{ bytes: liveBytes, fileBytes, limitBytes: this.#options.maxBytes },
      evictions: { disk: evictedKeys, expired: expiredKeys },
      ...{ health: this.health, failures, damagedValues },
    }
  }

  record(key: Key): ShapeRecord | undefined {
    return this.#keys.isUsable(key) ? this.#health.attempt(() => this.#records.read(key)?.shape) : undefined
  }

  read(key: Key, interval: Interval): Found | undefined {
    const known = this.#find(key, interval)
    if (known === undefined) return undefined
    if (known.used + useGrain <= minuteOf(this.#options.clock.now()) && this.#used.size < maxUsesNoted)
      this.#used.add(key)
    return known.found
  }

  peek(key: Key, interval: Interval): Found | undefined {
    return this.#find(key, interval)?.found
  }

  async write(key: Key, entry: Entry): Promise<boolean> {
    const bytes = entry.pane.body.bytes.byteLength
    if (!this.#mayWrite(key, bytes)) {
      this.#health.counters.refused++
      return false
    }
    const now = this.#options.clock.now()
    const isKept = await this.#change(bytes, () => this.#panes.write(key, entry, now))
    if (isKept !== undefined) this.#health.recover()
    return isKept ?? false
  }

  async remove(key: Key, interval?: Interval, fetchedUntil?: EpochMs): Promise<number> {
    if (!this.#keys.isUsable(key)) return 0
    return (await this.#change(0, () => this.#panes.remove(key, interval, fetchedUntil))) ?? 0
  }

  /** A page at a time: a caller that reads many pages can yield between them. */
  *shapes(): Iterable<readonly [Key, ShapeRecord]> {
    let page = this.#shapesBehind(undefined)
    while (page.length > 0) {
      for (const [key, shape] of page) if (shape !== undefined) yield [key, shape]
      page = this.#shapesBehind(page.at(-1)![0])
    }
  }

  async maintain(): Promise<void> {
    if (!this.#health.isReadable) return
    this.#health.attempt(() => {
      this.#health.counters.deadReaders += this.#file.checkReaders()
    })
    const used = [...this.#used]
    this.#used.clear()
    await this.#change(0, () => this.#noteUses(used))
    try {
      await this.#sizeLimit.expire()
      await this.#collectCells()
    } catch (error) {
      this.#health.fail(error)
    }
    // It has run for a while: the file did not cause the earlier crash.
    this.#health.attempt(() => this.#markers.forgive())
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#timer.cancel()
    const { isDamaged } = this.#health
    this.#health.isClosed = true
    await this.#file.close().catch(() => {})
    this.#markers.leave(isDamaged)
  }

  #find(key: Key, interval: Interval): ReturnType<Panes['read']> {
    return this.#keys.isUsable(key) ? this.#health.attempt(() => this.#panes.read(key, interval)) : undefined
  }

  #shapesBehind(key: Key | undefined): ReturnType<Records['page']> {
    return this.#health.attempt(() => this.#records.page(key, shapesAtOnce)) ?? []
  }

  #mayWrite(key: Key, bytes: number): boolean {
    if (!this.#keys.isUsable(key) || !this.#health.isWritable) return false
    // One key that would push out most of the others is not kept at all.
    if (bytes > this.#options.maxBytes / 8) return false
    const { maxQueuedBytes = 64 * 1024 * 1024 } = this.#options
    if (this.#file.queuedBytes + bytes > maxQueuedBytes) return false
    return this.#health.attempt(() => this.#sizeLimit.hasRoomFor(bytes)) ?? false
  }

  #noteUses(keys: readonly Key[]): void {
    const used = minuteOf(this.#options.clock.now())
    for (const key of keys) {
      const record = this.#records.read(key)
      if (record !== undefined) this.#records.write(key, { ...record, used })
    }
  }

  #schedule(): void {
    this.#timer = this.#options.clock.after(maintenanceMs, () => {
      void this.maintain().finally(() => {
        if (!this.#health.isClosed) this.#schedule()
      })
    })
  }

  #change<T>(bytes: number, action: () => T): Promise<T | undefined> {
    return this.#health.attemptChange(() => this.#file.change(bytes, action))
  }
}
