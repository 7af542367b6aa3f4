/** The interface of an engine behind a network that row-cells.ts turns into cells: rows by id, and compare-and-set. */
import type { Cell, CellCapabilities, Revision } from '../cells.ts'

export interface CellCommit {
  readonly sk: string
  /** The revision that must be stored; undefined where the row must be absent. */
  readonly expected: Revision | undefined
  /** The new row; undefined removes the row. */
  readonly row: Cell | undefined
}

export interface CellEngine {
  readonly name: string
  readonly capabilities: CellCapabilities
  /** The rows as every client sees them now. Rows that should have been collected may be among them: callers filter. */
  load(pk: string, sks: readonly string[]): Promise<readonly (Cell | undefined)[]>
  /** In the byte order of `sk`. */
  list(pk: string): Promise<readonly (readonly [sk: string, cell: Cell])[]>
  /**
   * Makes all changes, or none and resolves to false: a row has another revision than expected. Rejects where the outcome
   * is not known; callers then look for the revisions that they wrote.
   */
  commit(pk: string, changes: readonly CellCommit[]): Promise<boolean>
}
