/**
 * Messages about buckets between the main thread, which has the stores, and the threads that serve requests. Messages
 * between two threads arrive in the order in which they were sent; there is no order between three.
 */
import type { EpochMs } from '../../core/clock.ts'
import type { Interval, Intervals } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import type { ShapeRecord } from '../../stores/store.ts'
import type { SharedPane } from '../shared-pane.ts'

/** The name of a far store, or '' for memory alone. */
export type StoreName = string

/** Everything that memory has of a key, as of one revision. */
export interface SharedSlot {
  readonly revision: number
  readonly panes: readonly SharedPane[]
  readonly shape: ShapeRecord
}

export type ToMainThread =
  /** See `Store.near`, and with `stale` `Store.read`. */
  | {
      readonly kind: 'read'
      readonly ask: number
      readonly store: StoreName
      readonly key: Key
      readonly interval: Interval
      readonly stale?: Intervals
    }
  | {
      readonly kind: 'write'
      /** Rises with every write of a thread. */
      readonly write: number
      readonly store: StoreName
      readonly key: Key
      readonly pane: SharedPane
      readonly shape: ShapeRecord
    }
  | {
      readonly kind: 'remove'
      readonly ask: number
      readonly store: StoreName
      readonly key: Key
      readonly interval: Interval | undefined
      readonly fetchedUntil: EpochMs | undefined
    }
  /** Requests for these keys, see `Store.seen`: some of them up to a second ago. */
  | { readonly kind: 'used'; readonly store: StoreName; readonly keys: readonly Key[] }

export type ToReplica =
  /** Sent whenever it changes, to threads that hold the key; undefined: removed, and no further messages follow. */
  | {
      readonly kind: 'slot'
      readonly key: Key
      readonly slot: SharedSlot | undefined
      /** The last of the thread's own writes that is in it, or was refused. */
      readonly written: number
    }
  /** The answer to `read`. Where memory holds the panes, they were sent as a slot before. */
  | {
      readonly kind: 'found'
      readonly ask: number
      readonly panes: readonly SharedPane[]
      readonly shape: ShapeRecord | undefined
      readonly isHeld: boolean
    }
  | { readonly kind: 'removed'; readonly ask: number; readonly buckets: number }
