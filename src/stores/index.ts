/** The interfaces for authors of stores; published as `windowpane/store`. The laws are in `windowpane/testing`. */

export type { Clock, EpochMs } from '../core/clock.ts'
export { endOf, type Grid } from '../core/grid.ts'
export type { Interval, Intervals } from '../core/interval.ts'
export type { Key } from '../core/key.ts'
export { clockOf, measure, type Pane, PaneBody, paneOf, paneVersion, slice } from '../core/pane.ts'
export { haveSameFrame, join } from '../core/pane-join.ts'
export { takeFrom } from './bucket-rules.ts'
export {
  isCollected,
  publishOn,
  type Rows as CellRows,
  refusalOfId,
  visible,
} from './cell-rules.ts'
export * from './cells.ts'
export type { EvictionReason, StoreCondition, StoreFigures } from './figures.ts'
export type * from './rows/cell-engine.ts'
export * from './rows/plan.ts'
export * from './rows/record.ts'
export { RowCells } from './rows/row-cells.ts'
export type * from './rows/row-engine.ts'
export * from './rows/row-key.ts'
export { RowStore, type RowStoreOptions } from './rows/row-store.ts'
export * from './rows/seal.ts'
export type * from './store.ts'
export * from './tile.ts'
