/** Objects in this process, bounded in bytes: a fresh one is served at once, and an older one while the store fails. */
import { BoundedMap, type MapBudget } from '../../core/bounded-map.ts'
import type { Version } from './object-rows.ts'

/** A version with its body. The body is shared by all its readers and must not be written to. */
export interface StoredObject {
  readonly version: Version
  readonly body: Uint8Array
}

export interface NearOptions {
  readonly maxBytes: number
  readonly maxObjects: number
  /** A shared memory budget: an object without room there is not held. */
  readonly budget?: MapBudget | undefined
}

/** Of the map, the record and the texts beside the body. */
const overheadBytes = 1024

export type NearObjects = BoundedMap<string, StoredObject>

export const nearObjects = ({ maxBytes, maxObjects, budget }: NearOptions): NearObjects =>
  new BoundedMap({ maxWeight: maxBytes, maxEntries: maxObjects, weightOf, budget })

const weightOf = ({ version, body }: StoredObject): number =>
  body.byteLength + overheadBytes + version.headers.reduce((sum, text) => sum + 2 * text.length, 0)
