/**
 * The seam to a storage engine: a two-level map, key → buckets. A store receives panes and returns panes; how it cuts
 * them into rows is its own affair. Its laws are in testing/test-store.ts.
 */
import type { EpochMs } from '../core/clock.ts'
import type { Grid } from '../core/grid.ts'
import type { Interval, Intervals } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import type { Pane } from '../core/pane.ts'
import type { Cells } from './cells.ts'
import type { StoreFigures } from './figures.ts'

/** What is known about a key besides its buckets: listing, purging by name and a hit's headers live on it. */
export interface ShapeRecord {
  readonly backend: string
  /** The question without its time range, for people. */
  readonly text: string
  /** The query as it was written. */
  readonly query: string
  /** What the question reads, where its names are known, and whether all of them are. */
  readonly sources: readonly string[]
  readonly knowsAllSources: boolean
  /** How far before a bucket the data lies that it is computed from; infinite where that is not bounded. */
  readonly lookbackMs: number
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
  /** Disjoint, in time order, inside the interval asked for. */
  readonly panes: readonly Pane[]
  readonly shape: ShapeRecord
}

export interface Entry {
  readonly pane: Pane
  readonly shape: ShapeRecord
}

/** Engines in this process answer at once; others return a promise. */
export type MaybePromise<T> = T | Promise<T>

export type NewsListener = (key: Key, interval: Interval) => void

export interface Store {
  readonly name: string
  /** Small rows under conditions, where the engine has them too. */
  readonly cells?: Cells
  /** The record of a key without its buckets. Not a use of the key. A tiered store knows the records of its near tier. */
  record(key: Key): MaybePromise<ShapeRecord | undefined>
  /**
   * What is stored of an interval, fresh or not; undefined where nothing is known about the key. `stale` names the buckets
   * for which what lies in this process is not fresh enough: a store with a far tier looks there for newer ones. Without
   * it, it looks there for absent buckets only.
   */
  read(key: Key, interval: Interval, stale?: Intervals): MaybePromise<Found | undefined>
  /**
   * What lies in this process; nobody else is asked. A promise only where buckets have to be decompressed first. Stores
   * without it hold nothing back: their `read` is already that.
   */
  near?(key: Key, interval: Interval): MaybePromise<Found | undefined>
  /** As `read`, but leaves no trace: what was looked at is not thereby used. */
  peek?(key: Key, interval: Interval): MaybePromise<Found | undefined>
  /** All of a key that lies ready to be read, at once and without a trace: not what would have to be unpacked first. */
  held?(key: Key): Found | undefined
  /**
   * Stores a pane, bucket by bucket: a bucket that is stored with a newer clock stays as it is. A pane with another
   * frame than the stored ones replaces them where it is the newer. Resolves to false where it was not kept.
   */
  write(key: Key, entry: Entry): MaybePromise<boolean>
  /**
   * Resolves when other nodes can read what was written of an interval here, to whether they can. Shapes that were not seen
   * often enough are shared only where another node waits (`isAwaited`). Stores without a shared tier leave it out.
   */
  share?(key: Key, interval: Interval, isAwaited: boolean): Promise<boolean>
  /**
   * Forgets an interval of a key, or all of it; where an instant is given, only what was fetched at or before it: what
   * comes in meanwhile stays. Resolves to the number of buckets forgotten.
   */
  remove(key: Key, interval?: Interval, fetchedUntil?: EpochMs): MaybePromise<number>
  /** Every key with its record. */
  shapes(): Iterable<readonly [Key, ShapeRecord]> | AsyncIterable<readonly [Key, ShapeRecord]>
  /** Whether another node has changed the key since this was last asked. Engines that cannot tell leave it out. */
  hasNews?(key: Key): MaybePromise<boolean>
  /** Calls back when another node has written buckets of a key. Returns false where the engine cannot tell. */
  onNews?(listener: NewsListener): boolean
  /** How the store is; never asks anybody else. */
  figures?(): StoreFigures
  close(): MaybePromise<void>
}
