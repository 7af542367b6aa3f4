/** The data stored per key besides its rows, as JSON. */
import { hash } from 'node:crypto'
import type { EpochMs } from '../../core/clock.ts'
import { readGrid } from '../../core/grid.ts'
import type { Pane } from '../../core/pane.ts'
import type { ShapeRecord } from '../store.ts'

export interface KeyRecord {
  readonly shape: ShapeRecord
  /** All rows of a key have one frame; see `frameOf`. */
  readonly frame: string
  /** The newest clock ever written. */
  readonly newest: EpochMs
  /** When the key was last used, in an engine's own coarse units: reading must write almost nothing. */
  readonly used: number
  /** Differs after every change of the key's rows: readers that remember rows compare it. */
  readonly changed: number
}

/** The members in a fixed order: equal records are equal bytes. */
export const encodeRecord = ({ shape, frame, newest, used, changed }: KeyRecord): Buffer =>
  Buffer.from(JSON.stringify({ shape, frame, newest, used, changed }))

/** Returns undefined for a record whose grid this runtime cannot compute: its rows are of no use then. */
export function decodeRecord(bytes: Buffer): KeyRecord | undefined {
  const record = JSON.parse(bytes.toString()) as KeyRecord
  const shape = revivedShape(record.shape)
  return shape && { ...record, shape }
}

/**
 * A shape record from parsed JSON. JSON has no infinity, and records of earlier versions have fewer members: missing
 * members get the most cautious value. Returns undefined where the grid is unknown here, such as one in a time zone
 * that this runtime does not have. The headers are frozen: every hit gets the same list.
 */
export function revivedShape(parsed: ShapeRecord): ShapeRecord | undefined {
  const { query = '', knowsAllSources = false, lookbackMs, ...shape } = parsed
  const grid = readGrid(shape.grid)
  if (grid === undefined) return undefined
  Object.freeze(shape.headers)
  return { ...shape, grid, query, knowsAllSources, lookbackMs: lookbackMs ?? Number.POSITIVE_INFINITY }
}

/** Most panes have the same frame as the one before: its name is computed once. */
let known = { lanes: -1, frame: Buffer.alloc(0), name: '' }

/** A short name of a pane's frame: panes with unequal names do not join. */
export function frameOf({ body }: Pane): string {
  const { lanes, frame } = body
  if (known.lanes !== lanes || !known.frame.equals(frame)) {
    const name = `${lanes} ${hash('sha256', frame, 'base64url')}`
    known = { lanes, frame: Buffer.from(frame), name }
  }
  return known.name
}
