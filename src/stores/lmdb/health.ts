/** The health of the store: for operators, and for the decision whether queries still use it. */
import type { Clock, EpochMs } from '../../core/clock.ts'
import type { StoreCondition } from '../figures.ts'
import { cutShort } from './file.ts'
import { nameOfError } from './library.ts'
import type { SetAsideReason } from './marker.ts'

/** `damaged` lasts until the next start, which begins with a new file; the others pass. */
export type LmdbTrouble = 'disk_full' | 'store_full' | 'damaged' | 'failing'

export interface StoreHealth extends StoreCondition {
  readonly state: 'ok' | 'degraded' | 'closed'
  readonly trouble?: LmdbTrouble
  /** The file was set aside when the store was opened. */
  readonly setAside?: SetAsideReason
}

export interface StoreCounters {
  /** Writes that were not kept. */
  refused: number
  /** Transactions or reads that failed. */
  failures: number
  /** Values whose length or checksum was wrong. */
  damagedValues: number
  evictedKeys: number
  expiredKeys: number
  /** Readers of processes that are gone. */
  deadReaders: number
}

/** The state of the file, from the file system. */
export interface Signs {
  /** A write that did not fit is reported as any input or output error. */
  isDiskFull(): boolean
  /** Another program has cut the file short. */
  isCut(): boolean
}

const retryMs = 10_000
const damageCodes = /MDB_(CORRUPTED|PAGE_NOTFOUND|PANIC|INVALID|VERSION_MISMATCH|BAD_TXN|CURSOR_FULL|PROBLEM)/
const fullCodes = /ENOSPC|EDQUOT|EFBIG|No space left|quota|File too large/i

export class Health {
  readonly counters: StoreCounters = {
    refused: 0,
    failures: 0,
    damagedValues: 0,
    evictedKeys: 0,
    expiredKeys: 0,
    deadReaders: 0,
  }
  readonly #clock: Clock
  readonly #signs: Signs
  readonly #setAside: SetAsideReason | undefined
  #trouble: { readonly kind: LmdbTrouble; readonly since: EpochMs; readonly detail: string } | undefined
  #retryAt = 0
  isClosed = false

  constructor(clock: Clock, signs: Signs, setAside: SetAsideReason | undefined) {
    this.#clock = clock
    this.#signs = signs
    this.#setAside = setAside
  }

  get value(): StoreHealth {
    const aside = this.#setAside === undefined ? {} : { setAside: this.#setAside }
    if (this.isClosed) return { state: 'closed', ...aside }
    if (this.#trouble === undefined) return { state: 'ok', ...aside }
    const { kind, since, detail } = this.#trouble
    return { state: 'degraded', trouble: kind, since, detail, ...aside }
  }

  get isDamaged(): boolean {
    return this.#trouble?.kind === 'damaged'
  }

  /** Checked before any access to the file. */
  get isReadable(): boolean {
    if (this.isClosed || this.isDamaged) return false
    if (!this.#signs.isCut()) return true
    this.fail(new Error(cutShort))
    return false
  }

  /** While something is wrong, one write every now and then finds out whether it still is. */
  get isWritable(): boolean {
    return this.isReadable && (this.#trouble === undefined || this.#clock.now() >= this.#retryAt)
  }

  /** The result of an action on the file; undefined where it fails, or the file cannot be used. */
  attempt<T>(action: () => T): T | undefined {
    if (!this.isReadable) return undefined
    try {
      return action()
    } catch (error) {
      return this.fail(error)
    }
  }

  /** As `attempt`, for a change of the file. */
  async attemptChange<T>(change: () => Promise<T>): Promise<T | undefined> {
    return this.attempt(change)?.catch((error: unknown) => this.fail(error))
  }

  fail(error: unknown): undefined {
    this.counters.failures++
    const detail = nameOfError(error)
    if (damageCodes.test(detail)) this.trouble('damaged', detail)
    else this.trouble(fullCodes.test(detail) || this.#signs.isDiskFull() ? 'disk_full' : 'failing', detail)
  }

  trouble(kind: LmdbTrouble, detail: string): void {
    if (this.isDamaged) return
    const since = this.#trouble?.kind === kind ? this.#trouble.since : this.#clock.now()
    this.#trouble = { kind, since, detail }
    this.#retryAt = this.#clock.now() + retryMs
  }

  recover(): void {
    if (!this.isDamaged) this.#trouble = undefined
  }
}
