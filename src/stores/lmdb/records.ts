/** The data per key besides its rows: its record, its frame, and its last use. */
import type { EpochMs } from '../../core/clock.ts'
import type { Key } from '../../core/key.ts'
import { decodeRecord, encodeRecord, type KeyRecord } from '../rows/record.ts'
import { type RowRef, readRowKey } from '../rows/row-key.ts'
import { checked, copied, seal } from '../rows/seal.ts'
import type { ShapeRecord } from '../store.ts'
import type { Tables } from './file.ts'
import { endOfPrefix, type Keys, recordOfUse } from './keys.ts'

/** The unit of `KeyRecord.used`. */
export const minuteOf = (now: EpochMs): number => Math.max(0, Math.floor(now / 60_000)) >>> 0

/** Inside a write transaction it reads the state of that transaction. */
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

  /** The content of a copy of a record. */
  opened(key: Key, sealed: Buffer): KeyRecord | undefined {
    return open(this.#keys.record(key), sealed)
  }

  /** Call in every transaction that changes rows of the key: readers compare the record to know whether rows changed. */
  write(key: Key, content: Omit<KeyRecord, 'changed'>): void {
    const record: KeyRecord = { ...content, changed: this.#tables.records.getWriteTxnId() }
    const at = this.#keys.record(key)
    const old = this.#at(at)
    if (old !== undefined && old.used !== record.used) this.#tables.uses.remove(this.#keys.use(old.used, at))
    if (old?.used !== record.used) this.#tables.uses.put(this.#keys.use(record.used, at), nothing)
    this.#tables.records.put(at, seal(at, encodeRecord(record)))
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
    return [...this.#tables.rows.getKeys({ start, end })].map(readRowKey)
  }

  /** Forgets a key with its rows. */
  drop(key: Key): void {
    this.#dropAt(this.#keys.record(key))
  }

  /** The entries in the index of use of the keys that were used longest ago, of any version. */
  oldest(limit: number): Buffer[] {
    return [...this.#tables.uses.getKeys({ start: Buffer.from([0]), end: Buffer.alloc(4, 0xff), limit })]
  }

  /** Forgets the key of an entry that `oldest` found. Returns the bytes of its rows. */
  evict(use: Buffer): number {
    this.#tables.uses.remove(use)
    return this.#dropAt(recordOfUse(use))
  }

  #dropAt(at: Buffer): number {
    let bytes = 0
    for (const row of [...this.#tables.rows.getKeys({ start: at, end: endOfPrefix(at) })]) {
      bytes += readRowKey(row).bytes
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
  return payload && decodeRecord(payload)
}

const nothing = Buffer.from([1])
