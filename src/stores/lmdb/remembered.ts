/**
 * Memoised reads of keys, so that reading an unchanged key copies and checks nothing. Changes are seen in the current
 * transaction: every change of its rows writes its record with the transaction's number, whichever process makes it.
 * Bodies are held weakly: they are found again until they are garbage-collected.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
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

/** Bodies count, too: one that can be found waits for a thorough collection, where others go with the next quick one. */
const usualBytes = 32 * 1024 * 1024
/** The size of a key and of each of its rows besides the bytes of the bodies. */
const overhead = 512
/** A record is kept as bytes and as the parsed value. */
const recordFactor = 3

export const newRemembered = (maxBytes = usualBytes): BoundedMap<Key, KnownKey> =>
  new BoundedMap({ maxWeight: maxBytes, weightOf })

function weightOf({ sealed, rows }: KnownKey): number {
  const bodies = rows.reduce((sum, { ref }) => sum + ref.bytes, 0)
  return bodies + recordFactor * sealed.length + overhead * (rows.length + 1)
}

/**
 * The current list of rows, with the known bodies. Where the key has changed, a body may be of an older version of its
 * row.
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
