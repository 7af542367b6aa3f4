/**
 * The laws of an object cache over a store's cells, as tests: `testObjects({ … })` in a test file registers them with
 * node:test. Every cache of a law stands for a node, and all of them share the store.
 */
import { describe, test } from 'node:test'
import { systemClock } from '../core/clock.ts'
import { type ObjectCacheOptions, objectCache } from '../engine/objects/object-cache.ts'
import type { ObjectCache } from '../engine/objects/objects.ts'
import type { Cells } from '../stores/cells.ts'
import type { MaybePromise } from '../stores/store.ts'
import { type FakeClock, fakeClock } from './fake-clock.ts'
import { objectLaws } from './object-laws.ts'
import { objectLeaseLaws } from './object-laws-leases.ts'
import type { Step } from './object-rig.ts'
import type { CellLaws } from './test-store.ts'

export interface ObjectContext {
  readonly cells: Cells
  readonly clock: FakeClock
  /** Time passes in such steps, but slowly while the store is at work: what it takes must not count as minutes. */
  step(ms: number): Step
  /** A further node. `through` changes how it reaches the store. */
  node(options?: ObjectCacheOptions, through?: (cells: Cells) => Cells): ObjectCache
}

export type ObjectLaw = (context: ObjectContext) => Promise<void>

export function testObjects(options: Omit<CellLaws, 'rounds'>): void {
  describe(`objects: ${options.name}`, () => {
    for (const [name, law] of Object.entries({ ...objectLaws, ...objectLeaseLaws }))
      test(name, () => run(options, law))
  })
}

async function run(options: Omit<CellLaws, 'rounds'>, law: ObjectLaw): Promise<void> {
  // Engines expire rows by their own clocks.
  const clock = fakeClock(1000 * Math.floor(systemClock.now() / 1000))
  const { cells, end } = await options.create({ clock })
  const ends: (() => MaybePromise<void>)[] = [() => cells.close(), ...(end === undefined ? [] : [end])]
  // The time that operations take is no time of the fake clock: its timeouts would measure the law, not the store.
  const work = { pending: 0 }
  const counted = countedCells(cells, work)
  const step = (ms: number) => () => (work.pending > 0 ? 0.1 : ms)
  const node: ObjectContext['node'] = (given = {}, through = (same) => same) =>
    objectCache(through(counted), { clock, timeoutSeconds: 'guarded', leaseSeconds: 600, ...given })
  try {
    await law({ cells, clock, node, step })
  } finally {
    for (const each of ends) await each()
  }
}

function countedCells(cells: Cells, work: { pending: number }): Cells {
  const run = async <T>(operation: () => MaybePromise<T>): Promise<T> => {
    work.pending++
    try {
      return await operation()
    } finally {
      work.pending--
    }
  }
  return {
    name: cells.name,
    capabilities: cells.capabilities,
    get: (id, v) => run(() => cells.get(id, v)),
    list: (pk, v) => run(() => cells.list(pk, v)),
    put: (id, draft, condition) => run(() => cells.put(id, draft, condition)),
    take: (id, take) => run(() => cells.take(id, take)),
    remove: (id, condition) => run(() => cells.remove(id, condition)),
    publish: (changes) => run(() => cells.publish(changes)),
    close: () => cells.close(),
  }
}
