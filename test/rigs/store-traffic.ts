/** Counts the operations on the engine of a network store, as its server sees them. For simulations. */
import type { CellEngine } from '../../src/stores/rows/cell-engine.ts'
import type { RowEngine, StoredKey } from '../../src/stores/rows/row-engine.ts'

export const noTraffic = () => ({
  /** Reads of a key, and the rows and bytes that they brought. */
  ...{ reads: 0, rowsRead: 0, bytesRead: 0 },
  /** Writes of a key, and the rows and bytes in them. */
  ...{ writes: 0, rowsWritten: 0, bytesWritten: 0 },
  /** Reads of cells: claims and marks. */
  cellReads: 0,
  /** Compare-and-set writes of cells. */
  cellWrites: 0,
  /** Those of them that were refused because another node was faster. */
  cellConflicts: 0,
  cellBytes: 0,
})

export type StoreTraffic = ReturnType<typeof noTraffic>

/** Runs an operation as a network does: late, or not at all. */
export type Carrier = <T>(operation: () => Promise<T>) => Promise<T>

export function meteredRows(engine: RowEngine, traffic: StoreTraffic, carry: Carrier): RowEngine {
  return {
    name: engine.name,
    read: async (key, range) => {
      traffic.reads++
      const found = await carry(() => engine.read(key, range))
      traffic.rowsRead += found.rows.length
      traffic.bytesRead += bytesOf(found)
      return found
    },
    write: (key, changes) => {
      traffic.writes++
      traffic.rowsWritten += changes.put.length
      const { record, stamp, put } = changes
      traffic.bytesWritten += bytesOf({ record: record?.value, stamp: stamp?.value, rows: put })
      return carry(() => engine.write(key, changes))
    },
    records: () => engine.records(),
    close: () => engine.close(),
  }
}

export function meteredCells(engine: CellEngine, traffic: StoreTraffic, carry: Carrier): CellEngine {
  return {
    name: engine.name,
    capabilities: engine.capabilities,
    load: async (pk, sks) => {
      traffic.cellReads++
      const cells = await carry(() => engine.load(pk, sks))
      for (const cell of cells) traffic.cellBytes += cell?.value.length ?? 0
      return cells
    },
    list: (pk) => {
      traffic.cellReads++
      return carry(() => engine.list(pk))
    },
    commit: async (pk, changes) => {
      traffic.cellWrites++
      for (const { row } of changes) traffic.cellBytes += row?.value.length ?? 0
      const isDone = await carry(() => engine.commit(pk, changes))
      if (!isDone) traffic.cellConflicts++
      return isDone
    },
  }
}

function bytesOf({ record, stamp, rows }: StoredKey): number {
  const sum = rows.reduce((total, { value }) => total + value.length, 0)
  return sum + (record?.length ?? 0) + (stamp?.length ?? 0)
}
