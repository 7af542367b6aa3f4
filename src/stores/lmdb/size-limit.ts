import type { StoreFile } from './file.ts'
import type { Health } from './health.ts'
import { minuteOfUse } from './keys.ts'
import type { OpenOptions } from './open.ts'
import type { Records } from './records.ts'

export interface SizeLimitOptions extends Pick<OpenOptions, 'clock' | 'disk' | 'directory' | 'maxBytes'> {
  /** Disk space that is left to others. */
  readonly reserveBytes: number
  readonly retentionMs: number
}

/** Above this share of its bound the store lets keys go until it is below the lower one. */
const highShare = 0.6
const lowShare = 0.5
/** A long value needs free pages side by side, so the file grows although enough of it is free: by 7 % in a soak. That needs room, too. */
const fileShare = 7 / 8
/** Of large cells: bodies of objects must leave room for panes. */
const cellShare = 0.25
/** One transaction lets go of at most so many keys, so that writers do not wait long. */
const keysAtOnce = 64
/**
 * A value may take twice the pages of its bytes: the pages of the replaced value are free only after the next commit.
 */
const pageFactor = 2
const diskCheckMs = 5000

export class SizeLimit {
  readonly #options: SizeLimitOptions
  readonly #file: StoreFile
  readonly #records: Records
  readonly #health: Health
  #freeOnDisk = Number.POSITIVE_INFINITY
  #nextDiskCheck = Number.NEGATIVE_INFINITY

  constructor(options: SizeLimitOptions, parts: { file: StoreFile; records: Records; health: Health }) {
    this.#options = options
    this.#file = parts.file
    this.#records = parts.records
    this.#health = parts.health
  }

  /** Whether so many bytes may be written now; may begin to make room for later ones. */
  hasRoomFor(bytes: number): boolean {
    const { maxBytes, reserveBytes } = this.#options
    const wanted = this.#file.queuedBytes + bytes
    if (this.#freeDiskBytes() - wanted < reserveBytes) {
      this.#health.trouble('disk_full', 'the disk has less free space than the reserve')
      return false
    }
    const { liveBytes, fileBytes } = this.#file.room()
    if (liveBytes + wanted > highShare * maxBytes) void this.makeRoom(wanted)
    const isRoomy = fileBytes + pageFactor * wanted <= fileShare * maxBytes
    // Pages that are free but scattered do not hold a long value: some slack is needed.
    if (isRoomy || fileBytes - liveBytes >= 2 * pageFactor * wanted) return true
    this.#health.trouble('store_full', 'the store holds as much as it may')
    return false
  }

  /** Cells are not evicted: they leave by their own clocks, and until then may take only a part of the store. */
  hasRoomForCells(bytes: number): boolean {
    return this.#file.cellBytes() + bytes <= cellShare * this.#options.maxBytes && this.hasRoomFor(bytes)
  }

  #making: Promise<void> | undefined

  /** Lets keys go, oldest use first, until `wanted` more bytes fit below the lower share. */
  makeRoom(wanted: number): Promise<void> {
    this.#making ??= this.#evict(wanted).finally(() => {
      this.#making = undefined
    })
    return this.#making
  }

  /** Removes keys of which every bucket has expired; keys used later are known to be younger. */
  async expire(): Promise<void> {
    const { clock, retentionMs } = this.#options
    const isLapsed = (use: Buffer): boolean => (minuteOfUse(use) + 1) * 60_000 + retentionMs <= clock.now()
    const lapsed = await this.#file.change(0, () => {
      const oldest = this.#records.oldest(keysAtOnce).filter(isLapsed)
      for (const use of oldest) this.#records.evict(use)
      return oldest.length
    })
    this.#health.counters.expiredKeys += lapsed
  }

  async #evict(wanted: number): Promise<void> {
    const target = Math.max(0, lowShare * this.#options.maxBytes - wanted)
    try {
      while (this.#file.room().liveBytes > target && (await this.#evictSome(target)) > 0);
      this.#health.recover()
    } catch (error) {
      this.#health.fail(error)
    }
  }

  async #evictSome(target: number): Promise<number> {
    const evicted = await this.#file.change(0, () => {
      let surplus = this.#file.room().liveBytes - target
      let count = 0
      for (const use of this.#records.oldest(keysAtOnce)) {
        if (surplus <= 0) break
        surplus -= this.#records.evict(use)
        count++
      }
      return count
    })
    this.#health.counters.evictedKeys += evicted
    return evicted
  }

  #freeDiskBytes(): number {
    const { clock, disk, directory } = this.#options
    if (clock.now() >= this.#nextDiskCheck) {
      this.#nextDiskCheck = clock.now() + diskCheckMs
      this.#freeOnDisk = disk.freeBytes(directory)
    }
    return this.#freeOnDisk
  }
}
