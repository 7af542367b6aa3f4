/** Panes in the file: reading, writing and removing rows of one key. Called inside a transaction. */
import type { EpochMs } from '../../core/clock.ts'
import { endOf } from '../../core/grid.ts'
import { type Interval, isEmpty, isWithin } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import { clockOf, type Pane, PaneBody, paneOf, paneVersion, slice } from '../../core/pane.ts'
import type { StoreRules } from '../kind.ts'
import { blocksAround, isOverlapping, planRows, type RowSource, tiled } from '../rows/plan.ts'
import { frameOf } from '../rows/record.ts'
import type { RowRef } from '../rows/row-key.ts'
import { copied, isSame, payloadIn, seal, unseal } from '../rows/seal.ts'
import type { Entry, Found } from '../store.ts'
import { countBuckets, cutOut, everything, newestClock } from '../tile.ts'
import type { Tables } from './file.ts'
import type { Health } from './health.ts'
import type { Keys } from './keys.ts'
import { minuteOf, type Records } from './records.ts'
import { type KnownKey, type KnownRow, knownRows, newRemembered } from './remembered.ts'

type PaneRules = Pick<StoreRules, 'retentionMs' | 'maxBucketsPerShape' | 'settledAgeMs'>

export interface PaneParts {
  readonly tables: Tables
  readonly keys: Keys
  readonly records: Records
  readonly health: Health
}

export class Panes {
  readonly #tables: Tables
  readonly #keys: Keys
  readonly #records: Records
  readonly #health: Health
  readonly #rules: PaneRules
  readonly #remembered = newRemembered()

  constructor(parts: PaneParts, rules: PaneRules) {
    this.#health = parts.health
    this.#tables = parts.tables
    this.#keys = parts.keys
    this.#records = parts.records
    this.#rules = rules
  }

  /** `used` is the minute of last use that the file knows. */
  read(key: Key, interval: Interval): { readonly found: Found; readonly used: number } | undefined {
    const known = this.#know(key, interval)
    if (known === undefined) return undefined
    const { record } = known
    const rows = isEmpty(interval) ? [] : known.rows.filter(({ ref }) => isOverlapping(ref, interval))
    const panes = tiled(rows.map((row) => this.#paneIn(key, row)).filter((pane) => pane !== undefined))
      .filter((pane) => frameOf(pane) === record.frame)
      .map((pane) => slice(pane, interval))
    return { found: { panes, shape: record.shape }, used: record.used }
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
  remove(key: Key, interval: Interval = everything, fetchedUntil?: EpochMs): number {
    const isAll = interval === everything
    const rows = isAll ? this.#records.rows(key) : this.#rowsOver(key, interval)
    const panes = this.#panesOf(key, rows)
    const left = cutOut(panes, interval, fetchedUntil)
    if (isAll && left.length === 0) {
      this.#records.drop(key)
      return countBuckets(panes)
    }
    // Rows of which nothing goes are not written again.
    if (countBuckets(left) === countBuckets(panes)) return 0
    const record = this.#records.read(key)
    for (const row of rows) this.#removeRow(key, row)
    if (record !== undefined && rows.length > 0) {
      const source = this.#sourceFor(key, record.shape.grid, Number.POSITIVE_INFINITY)
      for (const pane of left) this.#lay(key, pane, source)
      this.#records.write(key, record)
    }
    return countBuckets(panes) - countBuckets(left)
  }

  /** A key with its rows around an interval, as the current transaction shows them. */
  #know(key: Key, interval: Interval): KnownKey | undefined {
    const view = this.#records.view(key)
    const before = this.#remembered.use(key)
    const hasChanged = before === undefined || view === undefined || !isSame(before.sealed, view)
    if (!hasChanged && isWithin(interval, before)) return before
    const sealed = view && copied(view)
    const record = hasChanged ? sealed && this.#records.opened(key, sealed) : before.record
    if (sealed === undefined || record === undefined) {
      this.#remembered.delete(key)
      return undefined
    }
    const blocks = blocksAround(interval)
    const rows = knownRows(this.#records.rows(key, blocks), before, hasChanged)
    const known = { ...blocks, sealed, record, rows }
    this.#remembered.set(key, known)
    return known
  }

  #paneIn(key: Key, row: KnownRow): Pane | undefined {
    const body = row.body?.deref()
    if (body !== undefined && row.isCurrent) return paneOf(body)
    const pane = this.#load(key, row.ref, body)
    if (pane === undefined || pane.body !== body) row.body = pane && new WeakRef(pane.body)
    row.isCurrent = pane !== undefined
    return pane
  }

  #lay(key: Key, pane: Pane, source: RowSource): void {
    const { remove, put } = planRows(this.#records.rows(key, blocksAround(pane)), pane, source)
    for (const row of remove) this.#removeRow(key, row)
    for (const row of put) {
      const at = this.#keys.row(key, row.ref)
      this.#tables.rows.put(at, seal(at, row.pane.body.bytes))
    }
  }

  #rowsOver(key: Key, interval: Interval): RowRef[] {
    if (interval.from >= interval.to) return []
    return this.#records.rows(key, blocksAround(interval)).filter((row) => isOverlapping(row, interval))
  }

  #panesOf(key: Key, rows: readonly RowRef[]): readonly Pane[] {
    return tiled(rows.map((row) => this.#load(key, row)).filter((pane) => pane !== undefined))
  }

  /** `known` is a body that was found right at this row before: where the file has its bytes it is not made again. */
  #load(key: Key, row: RowRef, known?: PaneBody): Pane | undefined {
    const at = this.#keys.row(key, row)
    const view = this.#tables.rows.getBinaryFast(at)
    if (view === undefined) return undefined
    const isKnown = known !== undefined && isSame(known.bytes, payloadIn(view))
    const bytes = isKnown ? undefined : unseal(at, view)
    const body = isKnown ? known : bytes && new PaneBody(bytes)
    const pane = body && paneOf(body)
    const isWhole = pane?.body.version === paneVersion && pane.from === row.from && pane.to === row.to
    if (isWhole) return pane
    this.#health.counters.damagedValues++
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

  /** Removes expired rows, and the oldest buckets of a key that has too many. */
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
