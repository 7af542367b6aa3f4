/** Cells in this process: every operation is one synchronous section, and therefore atomic. */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Clock } from '../../core/clock.ts'
import { takeFrom } from '../bucket-rules.ts'
import { isCollected, publishOn, putOn, type Rows, removeFrom, visible } from '../cell-rules.ts'
import {
  type Cell,
  type CellDraft,
  type CellId,
  type Cells,
  type Change,
  type Condition,
  type PublishOutcome,
  type PutOutcome,
  type Revision,
  type Take,
  type TakeOutcome,
  textOfId,
} from '../cells.ts'

export interface MemoryCellsOptions {
  readonly clock: Clock
  /** The most rows, of those with a collection time and of those without; the ones written longest ago are evicted first. */
  readonly maxRows?: number
  readonly maxValueBytes?: number
  /** Of rows with large values (bodies of objects) together, which are evicted like the others; 32 MiB by default. */
  readonly maxBytes?: number
}

export function memoryCells(options: MemoryCellsOptions): Cells {
  return new MemoryCells(options)
}

/** Rows with longer values are bounded by their bytes instead of their number. */
const largeValueBytes = 1024
/** Of a row beside its value. */
const overheadBytes = 512

/** How often collected rows are looked for at most, while there is no room for another one. */
const sweepEveryMs = 1000

class MemoryCells implements Cells, Rows {
  readonly name = 'memory'
  readonly capabilities
  readonly maxValueBytes: number
  readonly #clock: Clock
  readonly #maxRows: number
  readonly #rows: BoundedMap<string, Cell>
  /** Rows that are never collected. They are apart, so that any number of others cannot evict them. */
  readonly #kept: BoundedMap<string, Cell>
  readonly #large: BoundedMap<string, Cell>
  readonly #all: readonly BoundedMap<string, Cell>[]
  #rev = 0
  #lastId: CellId | undefined
  #lastText = ''
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor({
    clock,
    maxRows = 100_000,
    maxValueBytes = 64 * 1024,
    maxBytes = 32 << 20,
  }: MemoryCellsOptions) {
    this.#clock = clock
    this.#maxRows = maxRows
    this.#rows = new BoundedMap({ maxEntries: maxRows })
    this.#kept = new BoundedMap({ maxEntries: maxRows })
    this.#large = new BoundedMap({
      maxWeight: maxBytes,
      weightOf: ({ value }) => value.byteLength + overheadBytes,
    })
    this.#all = [this.#rows, this.#kept, this.#large]
    this.maxValueBytes = maxValueBytes
    this.capabilities = { shared: false, durable: false, maxValueBytes }
  }

  get now(): number {
    return this.#clock.now()
  }

  get(id: CellId, v: number): Cell | undefined {
    return visible(this.stored(id), v, this.now)
  }

  list(pk: string, v: number): (readonly [string, Cell])[] {
    const prefix = textOfId({ pk, sk: '' })
    const found: [string, Cell][] = []
    for (const rows of this.#all) {
      for (const [text, cell] of rows) {
        if (text.startsWith(prefix) && visible(cell, v, this.now) !== undefined)
          found.push([text.slice(prefix.length), cell])
      }
    }
    return found.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  }

  put(id: CellId, draft: CellDraft, condition: Condition): PutOutcome {
    return putOn(this, { id, put: draft, if: condition })
  }

  take(id: CellId, take: Take): TakeOutcome {
    return takeFrom(this, id, take)
  }

  remove(id: CellId, condition: Condition): boolean {
    return removeFrom(this, id, condition)
  }

  publish(changes: readonly Change[]): PublishOutcome {
    return publishOn(this, changes)
  }

  /** A row seen collected is gone for good: a clock that goes back must not bring it back. Buckets keep their debt. */
  stored(id: CellId): Cell | undefined {
    const text = this.#textOf(id)
    const cell = this.#rows.get(text) ?? this.#kept.get(text) ?? this.#large.get(text)
    if (cell === undefined || cell.levels !== undefined || !isCollected(cell, this.now)) return cell
    for (const rows of this.#all) rows.delete(text)
    return undefined
  }

  store(id: CellId, row: Omit<Cell, 'rev'>): Revision {
    const rev = String(++this.#rev)
    const text = this.#textOf(id)
    // The caller may write into its buffer again.
    const value = row.value.byteLength === 0 ? row.value : Uint8Array.from(row.value)
    const cell = { ...row, value, rev }
    const home = this.#homeOf(cell)
    for (const rows of this.#all) if (rows !== home) rows.delete(text)
    if (home === this.#rows && home.size >= this.#maxRows && !home.has(text)) this.#dropCollected()
    home.set(text, cell)
    return rev
  }

  drop(id: CellId): void {
    for (const rows of this.#all) rows.delete(textOfId(id))
  }

  close(): void {
    for (const rows of this.#all) rows.clear()
  }

  #homeOf({ collectAt, value }: Cell): BoundedMap<string, Cell> {
    if (collectAt === 'never') return this.#kept
    return value.byteLength > largeValueBytes ? this.#large : this.#rows
  }

  /** An operation looks its row up several times: the text is made, and hashed, once. */
  #textOf(id: CellId): string {
    if (id !== this.#lastId) {
      this.#lastId = id
      this.#lastText = textOfId(id)
    }
    return this.#lastText
  }

  /** Looks at every row, and therefore not for every new one. */
  #dropCollected(): void {
    const { now } = this
    if (Math.abs(now - this.#sweptAt) < sweepEveryMs) return
    this.#sweptAt = now
    for (const [text, cell] of this.#rows) if (isCollected(cell, now)) this.#rows.delete(text)
  }
}
