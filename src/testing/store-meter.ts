/** Counts what is asked of a store, as the network in front of it would see it. For simulations. */
import { rowBytes } from '../core/pane-rows.ts'
import type { Cell, CellDraft, Cells } from '../stores/cells.ts'
import type { Entry, Found, MaybePromise, Store } from '../stores/store.ts'

export interface StoreTraffic {
  /** Reads of panes; `bucketsRead` and `bytesRead` are what they brought. */
  reads: number
  bucketsRead: number
  bytesRead: number
  /** Writes of panes. */
  writes: number
  bucketsWritten: number
  bytesWritten: number
  /** Reads of cells: claims and marks. */
  cellReads: number
  /** Conditional writes of cells, refused ones included. */
  cellWrites: number
  /** Those of them that were refused because another node was faster. */
  cellConflicts: number
  cellBytes: number
  /** Removals, listings and the like. */
  others: number
}

export const noTraffic = (): StoreTraffic => ({
  ...{ reads: 0, bucketsRead: 0, bytesRead: 0, writes: 0, bucketsWritten: 0, bytesWritten: 0 },
  ...{ cellReads: 0, cellWrites: 0, cellConflicts: 0, cellBytes: 0, others: 0 },
})

/** The store with every operation counted in `traffic` when it is sent. Bytes are those of panes with one column. */
export function metered(store: Store, traffic: StoreTraffic): Store {
  const other = <T>(operation: () => T): T => {
    traffic.others++
    return operation()
  }
  return {
    name: store.name,
    ...(store.cells && { cells: meteredCells(store.cells, traffic) }),
    record: (key) => other(() => store.record(key)),
    read: (key, interval, stale) => {
      traffic.reads++
      return thenLook(store.read(key, interval, stale), (found) => countRead(traffic, found))
    },
    write: (key, entry) => {
      countWritten(traffic, entry)
      return store.write(key, entry)
    },
    remove: (key, interval, fetchedUntil) => other(() => store.remove(key, interval, fetchedUntil)),
    shapes: () => other(() => store.shapes()),
    close: () => store.close(),
  }
}

const meteredCells = (cells: Cells, traffic: StoreTraffic): Cells => {
  const send = ({ value }: CellDraft) => {
    traffic.cellWrites++
    traffic.cellBytes += value.length
  }
  return {
    name: cells.name,
    capabilities: cells.capabilities,
    get: (id, v) => {
      traffic.cellReads++
      return thenLook(cells.get(id, v), (cell: Cell | undefined) => {
        traffic.cellBytes += cell?.value.length ?? 0
      })
    },
    list: (pk, v) => {
      traffic.others++
      return cells.list(pk, v)
    },
    put: (id, draft, condition) => {
      send(draft)
      return thenLook(cells.put(id, draft, condition), ({ ok }) => {
        if (!ok) traffic.cellConflicts++
      })
    },
    take: (id, take) => {
      traffic.cellWrites++
      return cells.take(id, take)
    },
    remove: (id, condition) => {
      traffic.cellWrites++
      return cells.remove(id, condition)
    },
    publish: (changes) => {
      for (const change of changes) {
        if ('put' in change) send(change.put)
        else traffic.cellWrites++
      }
      return cells.publish(changes)
    },
    close: () => cells.close(),
  }
}

function countRead(traffic: StoreTraffic, found: Found | undefined): void {
  for (const pane of found?.panes ?? []) {
    traffic.bucketsRead += pane.to - pane.from
    traffic.bytesRead += rowBytes(pane).length
  }
}

function countWritten(traffic: StoreTraffic, { pane }: Entry): void {
  traffic.writes++
  traffic.bucketsWritten += pane.to - pane.from
  traffic.bytesWritten += rowBytes(pane).length
}

function thenLook<T>(value: MaybePromise<T>, look: (value: T) => void): MaybePromise<T> {
  if (!(value instanceof Promise)) {
    look(value)
    return value
  }
  return value.then((late) => {
    look(late)
    return late
  })
}
