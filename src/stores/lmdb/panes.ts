/** Panes in the file: reading, writing and removing rows of one key. Called inside a transaction. */
import type { EpochMs } from '../../core/clock.ts'
import { endOf } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import { clockOf, type Pane, PaneBody, paneOf, paneVersion, slice } from '../../core/pane.ts'
import type { Entry, Found } from '../store.ts'
import { cutOut, layOver } from '../tile.ts'
import type { Tables } from './file.ts'
import type { Keys, RowRef } from './keys.ts'
import { blockBuckets, blockStart, newestClock, overlaps, planRows, type RowSource } from './plan-rows.ts'
import { frameOf, minuteOf, type Records } from './records.ts'
import { seal, unseal } from './seal.ts'

export interface PaneRules {
  readonly retentionMs: number
  readonly maxBucketsPerShape: number
  /** From this age at fetch on a bucket is taken for settled. */
  readonly settledAgeMs: number
  /** Called for every value whose checksum is wrong. */
  onDamaged(): void
}

export class Panes {
  readonly #tables: Tables
  readonly #keys: Keys
  readonly #records: Records
  readonly #rules: PaneRules

  constructor(parts: { tables: Tables; keys: Keys; records: Records }, rules: PaneRules) {
    this.#tables = parts.tables
    this.#keys = parts.keys
    this.#records = parts.records
    this.#rules = rules
  }

  /** `used` is the minute of last use that the file knows. */
  read(key: Key, interval: Interval): (Found & { readonly used: number }) | undefined {
    const record = this.#records.read(key)
    if (record === undefined) return undefined
    const rows = this.#rowsOver(key, interval).filter((row) => overlaps(row, interval))
    const panes = this.#panesOf(key, rows)
      .filter((pane) => frameOf(pane) === record.frame)
      .map((pane) => slice(pane, interval))
    return { panes, shape: record.shape, used: record.used }
  }

  /** Returns false where a newer answer of another frame stands in the way. */
  write(key: Key, { pane, shape }: Entry, now: EpochMs): boolean {
    const old = this.#records.read(key)
    const frame = frameOf(pane)
    const newest = newestClock(pane)
    if (old !== undefined && old.frame !== frame) {
      if (old.newest > newest && old.newest <= now) return false
      for (const row of this.#records.rows(key)) this.#removeRow(key, row)
    }
    this.#lay(key, pane, this.#sourceFor(key, shape.grid, now))
    this.#trim(key, now)
    const isJoined = old?.frame === frame && old.newest <= now
    const latest = isJoined ? Math.max(newest, old.newest) : newest
    this.#records.write(key, { shape, frame, newest: latest, used: minuteOf(now) })
    return true
  }

  /** Returns how many buckets there were. */
  remove(key: Key, interval: Interval | undefined): number {
    if (interval === undefined) {
      const count = countOf(this.#panesOf(key, this.#records.rows(key)))
      this.#records.drop(key)
      return count
    }
    const rows = this.#rowsOver(key, interval).filter((row) => overlaps(row, interval))
    const panes = this.#panesOf(key, rows)
    const left = cutOut(panes, interval)
    const grid = this.#records.read(key)?.shape.grid
    for (const row of rows) this.#removeRow(key, row)
    for (const pane of left)
      if (grid !== undefined) this.#lay(key, pane, this.#sourceFor(key, grid, Number.POSITIVE_INFINITY))
    return countOf(panes) - countOf(left)
  }

  #lay(key: Key, pane: Pane, source: RowSource): void {
    const blocks = { from: blockStart(pane.from), to: blockStart(pane.to - 1) + blockBuckets }
    const { remove, put } = planRows(this.#records.rows(key, blocks), pane, source)
    for (const row of remove) this.#removeRow(key, row)
    for (const row of put) {
      const at = this.#keys.row(key, row.ref)
      this.#tables.rows.put(at, seal(at, row.pane.body.bytes))
    }
  }

  /** Rows may reach into an interval from the beginning of the block it begins in, never from before. */
  #rowsOver(key: Key, interval: Interval): RowRef[] {
    return interval.from < interval.to
      ? this.#records.rows(key, { from: blockStart(interval.from), to: interval.to })
      : []
  }

  #panesOf(key: Key, rows: readonly RowRef[]): readonly Pane[] {
    const panes = rows.map((row) => this.#load(key, row)).filter((pane) => pane !== undefined)
    const isTiled = panes.every((pane, i) => i === 0 || panes[i - 1]!.to <= pane.from)
    return isTiled ? panes : panes.reduce<Pane[]>((stored, pane) => layOver(stored, pane), [])
  }

  #load(key: Key, row: RowRef): Pane | undefined {
    const at = this.#keys.row(key, row)
    const view = this.#tables.rows.getBinaryFast(at)
    if (view === undefined) return undefined
    const bytes = unseal(at, view)
    const pane = bytes === undefined ? undefined : paneOf(new PaneBody(bytes))
    const isWhole = pane?.body.version === paneVersion && pane.from === row.from && pane.to === row.to
    if (isWhole) return pane
    this.#rules.onDamaged()
    return undefined
  }

  #removeRow(key: Key, row: RowRef): void {
    this.#tables.rows.remove(this.#keys.row(key, row))
  }

  #sourceFor(key: Key, grid: Entry['shape']['grid'], now: EpochMs): RowSource {
    const { settledAgeMs } = this.#rules
    return {
      now,
      load: (row) => this.#load(key, row),
      isSettled: (pane, bucket) => clockOf(pane, bucket) - endOf(grid, bucket) >= settledAgeMs,
    }
  }

  /** Rows that have lapsed leave, and the oldest buckets of a key that has too many. */
  #trim(key: Key, now: EpochMs): void {
    const rows = this.#records.rows(key)
    let surplus = rows.reduce((sum, row) => sum + row.to - row.from, 0) - this.#rules.maxBucketsPerShape
    for (const row of rows) {
      const isSurplus = surplus > 0
      if (isSurplus) surplus -= row.to - row.from
      if (isSurplus || row.newest + this.#rules.retentionMs <= now) this.#removeRow(key, row)
    }
  }
}

const countOf = (panes: readonly Pane[]): number => panes.reduce((sum, pane) => sum + pane.to - pane.from, 0)
