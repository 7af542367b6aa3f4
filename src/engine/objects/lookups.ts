/** Reads an object from the store, once for all concurrent requests. */
import type { Clock } from '../../core/clock.ts'
import type { Generations } from './generations.ts'
import type { NearObjects, StoredObject } from './near-objects.ts'
import type { ObjectName } from './object-names.ts'
import { baseOf, type ObjectRows, stateOf } from './object-rows.ts'

export interface LookupOptions {
  readonly clock: Clock
  /** Undefined where the store has no cells. */
  readonly rows: ObjectRows | undefined
  readonly near: NearObjects
  readonly generations: Generations
}

export interface ObjectLookup {
  /** The newest that is known, fresh or not. */
  readonly object: StoredObject | undefined
  /** The state in the store, see `stateOf`; undefined where it could not be read. */
  readonly known: string | undefined
  readonly failure?: unknown
}

export class Lookups {
  readonly #options: LookupOptions
  readonly #underWay = new Map<string, Promise<ObjectLookup>>()

  constructor(options: LookupOptions) {
    this.#options = options
  }

  /** Never rejects: while the store fails, only the objects of this process are known. */
  lookUp(name: ObjectName): Promise<ObjectLookup> {
    const underWay = this.#underWay.get(name.pk)
    if (underWay !== undefined) return underWay
    const lookup = this.#read(name)
      .catch((failure: unknown) => ({ object: this.#held(name), known: undefined, failure }))
      .finally(() => this.#underWay.delete(name.pk))
    this.#underWay.set(name.pk, lookup)
    return lookup
  }

  async #read(name: ObjectName): Promise<ObjectLookup> {
    const { rows, clock, generations, near } = this.#options
    if (rows === undefined) return { object: this.#held(name), known: undefined }
    const look = generations.dueFor(name.tenant) === 'no' ? undefined : generations.look(name.tenant)
    const meta = await rows.read(name.pk, clock.now())
    await look
    // A missing row proves nothing: the copy of this process has clocks of its own.
    if (meta === undefined) return { object: this.#held(name), known: '' }
    const { current } = meta
    const held = this.#held(name)
    const body = held?.version.id === current.id ? held.body : await rows.readBody(name.pk, current)
    const object = newest(body && { version: current, body }, this.#held(name))
    if (object !== undefined) near.set(name.pk, object)
    return { object, known: stateOf(current) }
  }

  #held({ pk }: ObjectName): StoredObject | undefined {
    return this.#options.near.use(pk)
  }
}

/** Of two equally old ones the first. */
export function newest(
  one: StoredObject | undefined,
  other: StoredObject | undefined,
): StoredObject | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return baseOf(other.version) > baseOf(one.version) ? other : one
}
