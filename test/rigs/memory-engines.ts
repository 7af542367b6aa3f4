/** Engines of network stores in this process: the interfaces of row-store.ts and row-cells.ts, in the fewest lines. */
import type { Clock } from '../../src/core/clock.ts'
import type { Interval } from '../../src/core/interval.ts'
import type { Key } from '../../src/core/key.ts'
import type { Cell } from '../../src/stores/cells.ts'
import type { CellCommit, CellEngine } from '../../src/stores/rows/cell-engine.ts'
import { RowCells } from '../../src/stores/rows/row-cells.ts'
import type {
  Dated,
  RowEngine,
  RowId,
  RowWrite,
  StoredKey,
  StoredRow,
} from '../../src/stores/rows/row-engine.ts'
import { RowStore } from '../../src/stores/rows/row-store.ts'
import type { Store } from '../../src/stores/store.ts'

interface MemoryKey {
  record?: Dated
  stamp?: Dated
  readonly rows: Map<string, StoredRow>
}

const idOf = ({ from, buckets }: RowId): string => `${from} ${buckets}`

/** The state that several engines share as clients of one server. */
export class MemoryServer {
  readonly keys = new Map<Key, MemoryKey>()
  readonly listeners: ((news: Buffer) => void)[] = []
  readonly cells = new Map<string, Map<string, Cell>>()
}

export class MemoryRowEngine implements RowEngine {
  readonly name = 'memory rows'
  readonly #keys: Map<Key, MemoryKey>
  readonly announce?: (news: Buffer) => void
  readonly onNews?: (listener: (news: Buffer) => void) => void
  /** Bytes that were written so far, keys and rows. */
  written = 0

  constructor(server = new MemoryServer(), { hasPubsub = false } = {}) {
    this.#keys = server.keys
    if (!hasPubsub) return
    this.announce = (news) => {
      for (const listener of server.listeners) listener(news)
    }
    this.onNews = (listener) => void server.listeners.push(listener)
  }

  async read(key: Key, range: Interval | undefined): Promise<StoredKey> {
    const found = this.#keys.get(key)
    const rows = range === undefined ? [] : [...(found?.rows.values() ?? [])]
    const inside = rows.filter(({ from }) => range !== undefined && from >= range.from && from < range.to)
    inside.sort((a, b) => a.from - b.from)
    return { record: found?.record?.value, stamp: found?.stamp?.value, rows: inside }
  }

  async write(key: Key, { record, stamp, put, drop, dropRecord }: RowWrite): Promise<void> {
    const found: MemoryKey = this.#keys.get(key) ?? { rows: new Map() }
    this.#keys.set(key, found)
    for (const row of drop)
      if ((found.rows.get(idOf(row))?.clock ?? Infinity) <= row.clock) found.rows.delete(idOf(row))
    if (dropRecord !== undefined && (found.record?.clock ?? 0) <= dropRecord) {
      delete found.record
      delete found.stamp
    }
    for (const row of put) {
      this.written += row.value.length
      if (!((found.rows.get(idOf(row))?.clock ?? -Infinity) > row.clock)) found.rows.set(idOf(row), row)
    }
    if (record !== undefined) found.record = newer(found.record, record)
    if (stamp !== undefined) found.stamp = newer(found.stamp, stamp)
    this.written += (record?.value.length ?? 0) + (stamp?.value.length ?? 0)
  }

  async *records(): AsyncIterable<readonly [Key, Buffer]> {
    for (const [key, { record }] of [...this.#keys]) if (record !== undefined) yield [key, record.value]
  }

  /** The current content, values only. */
  sizes(): { readonly stored: number; readonly rows: number } {
    const keys = [...this.#keys.values()]
    const rows = keys.flatMap((key) => [...key.rows.values()])
    const records = keys.flatMap(({ record, stamp }) => [record, stamp]).filter((part) => part !== undefined)
    const stored = [...rows, ...records].reduce((sum, { value }) => sum + value.length, 0)
    return { stored, rows: rows.length }
  }

  async close(): Promise<void> {}
}

const newer = (stored: Dated | undefined, written: Dated): Dated =>
  stored !== undefined && stored.clock > written.clock ? stored : written

export class MemoryCellEngine implements CellEngine {
  readonly name = 'memory rows'
  readonly capabilities = { shared: true, durable: false, maxValueBytes: 64 * 1024 }
  readonly #rows: Map<string, Map<string, Cell>>

  constructor(server = new MemoryServer()) {
    this.#rows = server.cells
  }

  async load(pk: string, sks: readonly string[]): Promise<readonly (Cell | undefined)[]> {
    return sks.map((sk) => this.#rows.get(pk)?.get(sk))
  }

  async list(pk: string): Promise<readonly (readonly [string, Cell])[]> {
    const rows = [...(this.#rows.get(pk) ?? [])]
    return rows.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  }

  async commit(pk: string, changes: readonly CellCommit[]): Promise<boolean> {
    const rows = this.#rows.get(pk) ?? new Map<string, Cell>()
    if (!changes.every(({ sk, expected }) => rows.get(sk)?.rev === expected)) return false
    for (const { sk, row } of changes) {
      if (row === undefined) rows.delete(sk)
      else rows.set(sk, { ...row, value: Uint8Array.from(row.value) })
    }
    this.#rows.set(pk, rows)
    return true
  }
}

/** Stores of nodes that share their rows, as those of an engine behind a network do; one for each node, on its own clock. */
export function sharedRows(retentionMs: number): (clock: Clock) => Store {
  const server = new MemoryServer()
  return (clock) => {
    const cells = new RowCells(new MemoryCellEngine(server), clock)
    return new RowStore({ engine: new MemoryRowEngine(server), cells, clock, retentionMs })
  }
}
