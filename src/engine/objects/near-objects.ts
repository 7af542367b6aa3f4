/** Objects in this process, bounded in bytes: a fresh one is served at once, and an older one while the store fails. */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Budget } from '../../core/budget.ts'
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
  readonly budget?: ObjectBudget | undefined
}

export type ObjectBudget = Pick<Budget, 'reserve' | 'release'> & Partial<Pick<Budget, 'onPressure'>>

/** Of the map, the record and the texts beside the body. */
const overheadBytes = 1024

export class NearObjects {
  readonly #budget: ObjectBudget | undefined
  readonly #objects: BoundedMap<string, StoredObject>

  constructor({ maxBytes, maxObjects, budget }: NearOptions) {
    this.#budget = budget
    this.#objects = new BoundedMap({
      maxWeight: maxBytes,
      maxEntries: maxObjects,
      weightOf,
      onRemoved: (weight) => budget?.release(weight),
    })
    budget?.onPressure?.(
      (bytes) => this.#objects.evictTo(Math.max(0, this.#objects.weight - bytes)),
      () => this.#objects.weight,
    )
  }

  use(pk: string): StoredObject | undefined {
    return this.#objects.use(pk)
  }

  set(pk: string, object: StoredObject): void {
    this.#objects.delete(pk)
    if (this.#budget === undefined || this.#budget.reserve(weightOf(object))) this.#objects.set(pk, object)
  }
}

const weightOf = ({ version, body }: StoredObject): number =>
  body.byteLength + overheadBytes + version.headers.reduce((sum, text) => sum + 2 * text.length, 0)
