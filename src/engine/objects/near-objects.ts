/** Objects in this process, bounded in bytes: a fresh one is served at once, and an older one while the store fails. */
import { BoundedMap, type MapBounds } from '../../core/bounded-map.ts'
import type { Version } from './object-rows.ts'

/** A version with its body. The body is shared by all its readers and must not be written to. */
export interface StoredObject {
  readonly version: Version
  readonly body: Uint8Array
}

/** Of the map, the record and the texts beside the body. */
const overheadBytes = 1024

export type NearObjects = BoundedMap<string, StoredObject>

/** The weights are bytes. */
export const nearObjects = (bounds: Omit<MapBounds<string, StoredObject>, 'weightOf'>): NearObjects =>
  new BoundedMap({ ...bounds, weightOf })

const weightOf = ({ version, body }: StoredObject): number =>
  body.byteLength + overheadBytes + version.headers.reduce((sum, text) => sum + 2 * text.length, 0)
