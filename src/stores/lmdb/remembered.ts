/**
 * What was read of keys, so that reading a key that has not changed copies and checks nothing. Whether it has changed is
 * seen in the current transaction: every change of its rows writes its record with the transaction's number, whichever
 * process makes it. Bodies are held weakly: they are found again while somebody has them or the collector has not come by.
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
/** What a key and each of its rows take besides the bytes of the bodies. */
const overhead = 512
/** A record is kept as bytes and as what they say. */
const recordFactor = 3

export const newRemembered = (maxBytes = usualBytes): BoundedMap<Key, KnownKey> =>
  new BoundedMap({ maxWeight: maxBytes, weightOf })

function weightOf({ sealed, rows }: KnownKey): number {
  const bodies = rows.reduce((sum, { ref }) => sum + ref.bytes, 0)
  return bodies + recordFactor * sealed.length + overhead * (rows.length + 1)
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
