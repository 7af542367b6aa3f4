import type { Cells } from '../../src/stores/cells.ts'
import { cellsThrough } from '../../src/stores/cells-through.ts'

/** Cells that answer at once, or throw while the store is down. */
export const failingCells = (cells: Cells, isDown: () => boolean): Cells =>
  cellsThrough(cells, (operation) => {
    if (isDown()) throw new Error('the store is down')
    return operation()
  })
