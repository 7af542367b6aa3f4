/**
 * The seam to a storage engine: a two-level map, key → buckets. A store receives panes and returns panes; how it cuts
 * them into rows is its own affair. Its laws are in testing/test-store.ts.
 */
import type { EpochMs } from '../core/clock.ts'
import type { Grid } from '../core/grid.ts'
import type { Interval, Intervals } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import type { MaybePromise } from '../core/maybe.ts'
import type { Pane } from '../core/pane.ts'
import type { Cells } from './cells.ts'
import type { StoreFigures } from './figures.ts'

export type { MaybePromise } from '../core/maybe.ts'

/** The metadata of a key besides its buckets: used for listing, purging by name and the headers of a hit. */
export interface ShapeRecord {
  readonly backend: string
  /** The question without its time range, for people. */
  readonly text: string
  /** The query as it was written. */
  readonly query: string
  /** The data sources of the query, where their names are known, and whether the list is complete. */
  readonly sources: readonly string[]
  readonly knowsAllSources: boolean
  /** How far before a bucket the data lies that it is computed from; infinite where that is not bounded. */
  readonly lookbackMs: number
  /** How far after its end the data lies; 0 unless given. */
  readonly lookaheadMs?: number
  readonly grid: Grid
  /** A label of the identity partition, never the credentials themselves. */
  readonly identity: string
  /** Allow-listed response headers last seen: name, value, name, value … */
  readonly headers: readonly string[]
  /** Unsettled empty buckets at the end of a fetch are not stored; that they were empty is known all the same. */
  readonly emptyEnds?: readonly EmptyEnd[]
}

export interface EmptyEnd extends Interval {
  /** When they were fetched. */
  readonly at: EpochMs
}

export interface Found {
  /** Disjoint, in time order, inside the requested interval. */
  readonly panes: readonly Pane[]
  readonly shape: ShapeRecord
}

export interface Entry {
  readonly pane: Pane
  readonly shape: ShapeRecord
}

export type NewsListener = (key: Key, interval: Interval) => void

export interface Store {
  readonly name: string
  /** Small rows under conditions, where the engine has them too. */
  readonly cells?: Cells
  /** The record of a key without its buckets. Not a use of the key. A tiered store knows the records of its near tier. */
  record(key: Key): MaybePromise<ShapeRecord | undefined>
  /**
   * The stored panes of an interval, fresh or not; undefined where the key is unknown. `stale` names the buckets that
   * are not fresh enough in this process: a store with a far tier looks there for newer ones, and for nothing else.
   * Without it, it looks there for absent buckets only.
   */
  read(key: Key, interval: Interval, stale?: Intervals): MaybePromise<Found | undefined>
  /**
   * The content in this process; no network, and a promise only where buckets have to be decompressed or compared first.
   * Stores without it are local: their `read` already does this.
   */
  near?(key: Key, interval: Interval): MaybePromise<Found | undefined>
  /** A request for the key begins. Called once per request, before it reads: it may read several times. */
  seen?(key: Key): void
  /** As `read`, but does not count as a use. */
  peek?(key: Key, interval: Interval): MaybePromise<Found | undefined>
  /** All buckets of a key that can be read at once, without counting as a use: no compressed ones. */
  held?(key: Key): Found | undefined
  /**
   * Stores a pane, bucket by bucket: a bucket that is stored with a newer clock stays as it is. A pane with another
   * frame than the stored ones replaces them where it is the newer. Resolves to false where it was not kept.
   */
  write(key: Key, entry: Entry): MaybePromise<boolean>
  /**
   * Resolves when other nodes can read the panes of an interval written here, to whether they can. Shapes that were not
   * seen often enough are shared only where another node waits (`isAwaited`). Stores without a shared tier omit it.
   */
  share?(key: Key, interval: Interval, isAwaited: boolean): Promise<boolean>
  /**
   * Removes an interval of a key, or all of it; with an instant, only buckets fetched at or before it: concurrent
   * writes stay. Resolves to the number of buckets removed.
   */
  remove(key: Key, interval?: Interval, fetchedUntil?: EpochMs): MaybePromise<number>
  shapes(): Iterable<readonly [Key, ShapeRecord]> | AsyncIterable<readonly [Key, ShapeRecord]>
  /** Whether another node has changed the key since the last call. Engines that cannot detect this omit it. */
  hasNews?(key: Key): MaybePromise<boolean>
  /** Calls back when another node has written buckets of a key. Returns false where the engine cannot detect this. */
  onNews?(listener: NewsListener): boolean
  /** The state of the store; never uses the network. */
  figures?(): StoreFigures
  /** May be called twice; afterwards nothing is found. */
  close(): MaybePromise<void>
}
