/**
 * What was read of keys, so that reading a key that has not changed copies and checks nothing. Whether it has changed is
 * seen in the current transaction: every change of its rows writes its record with the transaction's number, whichever
 * process makes it. Bodies are held weakly: they are found again while somebody has them or the collector has not come by.
 */
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import type { PaneBody } from '../../core/pane.ts'
import type { KeyRecord } from '../rows/record.ts'
import type { RowRef } from '../rows/row-key.ts'

export interface KnownRow {
  readonly ref: RowRef
  /** The last body that was read there and found right. */
  body: WeakRef<PaneBody> | undefined
  /** Whether the body was compared with the file since the key last changed. */
  isCurrent: boolean
}

/** The rows that begin in an interval of whole blocks. */
export interface KnownKey extends Interval {
  /** The record as it lay in the file. */
  readonly sealed: Buffer
  readonly record: KeyRecord
  readonly rows: readonly KnownRow[]
}

export interface RememberedBounds {
  readonly maxRows: number
  /** Of bodies, too: one that can be found waits for a thorough collection, where others go with the next quick one. */
  readonly maxBytes: number
}

const usualBounds: RememberedBounds = { maxRows: 8192, maxBytes: 32 * 1024 * 1024 }
/** A record is kept as bytes and as what they say. */
const recordFactor = 3

export class Remembered {
  readonly #bounds: RememberedBounds
  /** Those asked for longest ago come first. */
  readonly #keys = new Map<Key, KnownKey>()
  #rows = 0
  #bytes = 0

  constructor(bounds: RememberedBounds = usualBounds) {
    this.#bounds = bounds
  }

  get size(): { readonly keys: number; readonly rows: number; readonly bytes: number } {
    return { keys: this.#keys.size, rows: this.#rows, bytes: this.#bytes }
  }

  get(key: Key): KnownKey | undefined {
    const known = this.#keys.get(key)
    if (known === undefined) return undefined
    this.#keys.delete(key)
    this.#keys.set(key, known)
    return known
  }

  set(key: Key, known: KnownKey): void {
    this.delete(key)
    const { rows, bytes } = sizeOf(known)
    const { maxRows, maxBytes } = this.#bounds
    // One that takes it all would push out the others and be pushed out by the next.
    if (rows > maxRows || bytes > maxBytes) return
    this.#keys.set(key, known)
    this.#rows += rows
    this.#bytes += bytes
    for (const oldest of this.#keys.keys()) {
      if (this.#rows <= maxRows && this.#bytes <= maxBytes) return
      this.delete(oldest)
    }
  }

  delete(key: Key): void {
    const known = this.#keys.get(key)
    if (known === undefined) return
    this.#keys.delete(key)
    const { rows, bytes } = sizeOf(known)
    this.#rows -= rows
    this.#bytes -= bytes
  }
}

/** A key without rows takes room as well. */
function sizeOf({ sealed, rows }: KnownKey): { rows: number; bytes: number } {
  const bodies = rows.reduce((sum, { ref }) => sum + ref.bytes, 0)
  return { rows: rows.length + 1, bytes: bodies + recordFactor * sealed.length }
}

/**
 * Rows as they are listed now, with the bodies that are known of them. Where the key has changed, a body is only what the
 * row may have been.
 */
export function knownRows(
  refs: readonly RowRef[],
  before: KnownKey | undefined,
  hasChanged: boolean,
): KnownRow[] {
  const known = new Map(before?.rows.map((row) => [row.ref.from, row]))
  return refs.map((ref) => {
    const row = known.get(ref.from)
    if (row !== undefined && !hasChanged) return row
    return { ref, body: row?.body, isCurrent: false }
  })
}
