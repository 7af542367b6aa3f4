/**
 * The laws of an object cache over a store's cells, as tests: `testObjects({ … })` in a test file registers them with
 * node:test. Every cache of a law stands for a node, and all of them share the store.
 */
import { describe, test } from 'node:test'
import { type ObjectCacheOptions, objectCache } from '../engine/objects/object-cache.ts'
import type { ObjectCache } from '../engine/objects/objects.ts'
import type { Cells } from '../stores/cells.ts'
import type { MaybePromise } from '../stores/store.ts'
import type { FakeClock } from './fake-clock.ts'
import { objectLaws } from './object-laws.ts'
import { objectLeaseLaws } from './object-laws-leases.ts'
import { paced } from './paced-clock.ts'
import { type CellLaws, clockAtServerTime } from './test-store.ts'

export interface ObjectContext {
  readonly cells: Cells
  readonly clock: FakeClock
  /** A further node. `through` changes how it reaches the store. */
  node(options?: ObjectCacheOptions, through?: (cells: Cells) => Cells): ObjectCache
}

export type ObjectLaw = (context: ObjectContext) => Promise<void>

export interface ObjectLawsOptions extends Omit<CellLaws, 'rounds'> {
  /** Operations end when the clock has moved, as those of a simulated network do. Otherwise it waits until they have ended. */
  readonly endsByClock?: boolean
}

export function testObjects(options: ObjectLawsOptions): void {
  describe(`objects: ${options.name}`, () => {
    for (const [name, law] of Object.entries({ ...objectLaws, ...objectLeaseLaws }))
      test(name, () => run(options, law))
  })
}

async function run(options: ObjectLawsOptions, law: ObjectLaw): Promise<void> {
  const unpaced = clockAtServerTime()
  const created = await options.create({ clock: unpaced })
  const { end } = created
  const { clock, cells } = options.endsByClock
    ? { clock: unpaced, ...created }
    : paced(unpaced, created.cells)
  const ends: (() => MaybePromise<void>)[] = [() => cells.close(), ...(end === undefined ? [] : [end])]
  // The time that operations take is no time of the fake clock: its timeouts would measure the law, not the store.
  const node: ObjectContext['node'] = (given = {}, through = (same) => same) =>
    objectCache(through(cells), { clock, timeoutSeconds: 'guarded', leaseSeconds: 600, ...given })
  try {
    await law({ cells, clock, node })
  } finally {
    for (const each of ends) await each()
  }
}
