/** What is kept per key besides its rows: its record, its frame, and when it was last used. */
import { hash } from 'node:crypto'
import type { EpochMs } from '../../core/clock.ts'
import { readGrid } from '../../core/grid.ts'
import type { Key } from '../../core/key.ts'
import type { Pane } from '../../core/pane.ts'
import type { ShapeRecord } from '../store.ts'
import type { Tables } from './file.ts'
import { endOfPrefix, type Keys, minuteOfUse, type RowRef, recordOfUse, rowOf } from './keys.ts'
import { checked, copied, seal } from './seal.ts'

export interface KeyRecord {
  readonly shape: ShapeRecord
  /** All rows of a key have one frame; this tells it from others. */
  readonly frame: string
  /** The newest clock ever written. */
  readonly newest: EpochMs
  /** The minute of last use: coarse, so that reading writes almost nothing. */
  readonly used: number
  /** The transaction that last wrote the record, and with it all that changed the key's rows. */
  readonly changed: number
}

/** Most panes have the frame of the one before. */
let known = { lanes: -1, frame: Buffer.alloc(0), name: '' }

export function frameOf({ body }: Pane): string {
  const { lanes, frame } = body
  if (known.lanes !== lanes || !known.frame.equals(frame)) {
    const name = `${lanes} ${hash('sha256', frame, 'base64url')}`
    known = { lanes, frame: Buffer.from(frame), name }
  }
  return known.name
}

export const minuteOf = (now: EpochMs): number => Math.max(0, Math.floor(now / 60_000)) >>> 0

/** Inside a write transaction it reads what that transaction sees. */
export class Records {
  readonly #tables: Tables
  readonly #keys: Keys

  constructor(tables: Tables, keys: Keys) {
    this.#tables = tables
    this.#keys = keys
  }

  read(key: Key): KeyRecord | undefined {
    return this.#at(this.#keys.record(key))
  }

  /** The record as it lies in the file, unchecked; valid until the next read. */
  view(key: Key): Buffer | undefined {
    return this.#tables.records.getBinaryFast(this.#keys.record(key))
  }

  /** What a copy of a record says. */
  opened(key: Key, sealed: Buffer): KeyRecord | undefined {
    return open(this.#keys.record(key), sealed)
  }

  /** To be called in every transaction that changes rows of the key: readers know by it that they have to look again. */
  write(key: Key, { shape, frame, newest, used }: Omit<KeyRecord, 'changed'>): void {
    const changed = this.#tables.records.getWriteTxnId()
    const record: KeyRecord = { shape, frame, newest, used, changed }
    const at = this.#keys.record(key)
    const old = this.#at(at)
    if (old !== undefined && old.used !== record.used) this.#tables.uses.remove(this.#keys.use(old.used, at))
    if (old?.used !== record.used) this.#tables.uses.put(this.#keys.use(record.used, at), nothing)
    this.#tables.records.put(at, seal(at, Buffer.from(JSON.stringify(record))))
  }

  /** The next keys behind one, or the first, with their records where those can be read; none where there are no more. */
  page(behind: Key | undefined, limit: number): (readonly [Key, ShapeRecord | undefined])[] {
    const all = this.#keys.recordRange()
    const start = behind === undefined ? all.start : endOfPrefix(this.#keys.record(behind))
    const keys = [...this.#tables.records.getKeys({ start, end: all.end, limit })]
    return keys.map((at) => [this.#keys.keyOfRecord(at), this.#at(at)?.shape])
  }

  /** The rows of a key, all or those of some blocks, in time order. */
  rows(key: Key, range?: { readonly from: number; readonly to: number }): RowRef[] {
    const start = range === undefined ? this.#keys.record(key) : this.#keys.rowFrom(key, range.from)
    const end = range === undefined ? this.#keys.rowsEnd(key) : this.#keys.rowFrom(key, range.to)
    return [...this.#tables.rows.getKeys({ start, end })].map(rowOf)
  }

  /** Forgets a key with its rows. */
  drop(key: Key): void {
    this.#dropAt(this.#keys.record(key))
  }

  /** Keys that were used longest ago, of any version, with the minute of their last use. */
  oldest(limit: number): { readonly at: Buffer; readonly minute: number; readonly use: Buffer }[] {
    const range = { start: Buffer.from([0]), end: Buffer.alloc(4, 0xff), limit }
    return [...this.#tables.uses.getKeys(range)].map((use) => ({
      use,
      minute: minuteOfUse(use),
      at: recordOfUse(use),
    }))
  }

  /** Forgets a key found by `oldest`. Returns the bytes of its rows. */
  evict({ at, use }: { readonly at: Buffer; readonly use: Buffer }): number {
    this.#tables.uses.remove(use)
    return this.#dropAt(at)
  }

  #dropAt(at: Buffer): number {
    let bytes = 0
    for (const row of [...this.#tables.rows.getKeys({ start: at, end: endOfPrefix(at) })]) {
      bytes += rowOf(row).bytes
      this.#tables.rows.remove(row)
    }
    const record = this.#at(at)
    if (record !== undefined) this.#tables.uses.remove(this.#keys.use(record.used, at))
    this.#tables.records.remove(at)
    return bytes
  }

  #at(at: Buffer): KeyRecord | undefined {
    const view = this.#tables.records.getBinaryFast(at)
    return view && open(at, copied(view))
  }
}

function open(at: Buffer, sealed: Buffer): KeyRecord | undefined {
  const payload = checked(at, sealed)
  return payload === undefined ? undefined : revived(JSON.parse(payload.toString()) as KeyRecord)
}

/**
 * JSON has no infinity, and records of earlier versions say less: what is not said is taken for the worst. A grid that is
 * not known here (a zone that this runtime does not have) leaves nothing to be done with the rows.
 */
function revived(record: KeyRecord): KeyRecord | undefined {
  const { query = '', knowsAllSources = false, lookbackMs, ...shape } = record.shape
  const grid = readGrid(shape.grid)
  if (grid === undefined) return undefined
  return { ...record, shape: { ...shape, grid, query, knowsAllSources, lookbackMs: lookbackMs ?? unbounded } }
}

const unbounded = Number.POSITIVE_INFINITY

const nothing = Buffer.from([1])
