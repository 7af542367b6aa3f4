/**
 * The laws of a store, as tests: `testStore({ … })` in a test file registers them with node:test. An engine that cannot
 * keep one names it in `skip`, with the reason.
 */
import { describe, test } from 'node:test'
import { type EpochMs, systemClock } from '../core/clock.ts'
import type { Cells } from '../stores/cells.ts'
import type { MaybePromise, Store } from '../stores/store.ts'
import { type FakeClock, fakeClock } from './fake-clock.ts'
import { cellRowLaws } from './store-laws-cells.ts'
import { cellBucketLaws } from './store-laws-cells-buckets.ts'
import { cellConcurrencyLaws } from './store-laws-cells-concurrent.ts'
import { cellLimitLaws } from './store-laws-cells-limits.ts'
import { paneLaws } from './store-laws-panes.ts'
import { recordLaws } from './store-laws-records.ts'

export interface StoreLaws {
  readonly name: string
  /** A store without anything in it; every test has its own. */
  create(context: { readonly clock: FakeClock }): MaybePromise<Store>
  readonly capabilities?: StoreCapabilities
  /** Laws that this engine does not keep. */
  readonly skip?: readonly { readonly reason: string; readonly tests: readonly string[] }[]
}

export interface StoreCapabilities {
  /** How long after its fetch a bucket is kept at least, where the store's own clock is the one it is given. */
  readonly retentionMs?: number
  /** How many random histories are tried; 40 by default. */
  readonly rounds?: number
  /** A removed bucket stays removed where it is written again with a clock from before the removal (tombstones). */
  readonly removalsHideOlder?: boolean
}

export interface StoreContext {
  readonly store: Store
  readonly clock: FakeClock
  /** When the test began. */
  readonly start: EpochMs
  readonly capabilities: StoreCapabilities
  /** A further store without anything in it, for laws that try many histories. */
  another(): MaybePromise<Store>
}

export type StoreLaw = (context: StoreContext) => Promise<void>

export function testStore(options: StoreLaws): void {
  const laws = { ...paneLaws, ...recordLaws }
  const skipped = new Map(
    (options.skip ?? []).flatMap(({ reason, tests }) => tests.map((name) => [name, reason])),
  )
  for (const name of skipped.keys()) {
    if (!(name in laws)) throw new Error(`testStore: there is no law "${name}" to skip`)
  }
  describe(`store: ${options.name}`, () => {
    for (const [name, law] of Object.entries(laws)) {
      const reason = skipped.get(name)
      test(name, reason === undefined ? {} : { skip: reason }, () => run(options, law))
    }
  })
}

/**
 * The clock of a law starts at the current second and stands still: engines expire rows by their own clocks, and moving
 * this one tests how readers judge rows that are still there.
 */
export const clockAtServerTime = (): FakeClock => fakeClock(1000 * Math.floor(systemClock.now() / 1000))

async function run(options: StoreLaws, law: StoreLaw): Promise<void> {
  const clock = clockAtServerTime()
  const opened: Store[] = []
  const another = async (): Promise<Store> => {
    const store = await options.create({ clock })
    opened.push(store)
    return store
  }
  try {
    const capabilities = options.capabilities ?? {}
    await law({ store: await another(), clock, start: clock.now(), capabilities, another })
  } finally {
    for (const store of opened) await store.close()
  }
}

export interface CellLaws {
  readonly name: string
  /** Cells without any row; every test has its own. `end` is called when the test is over. */
  create(context: { readonly clock: FakeClock }): MaybePromise<{ cells: Cells; end?(): MaybePromise<void> }>
  /** How many random histories are tried; 30 by default. */
  readonly rounds?: number
}

export interface CellContext {
  readonly cells: Cells
  readonly clock: FakeClock
  readonly rounds: number
  /** Further cells without any row, on the same clock. */
  another(): Promise<Cells>
}

export type CellLaw = (context: CellContext) => Promise<void>

/** The laws of a store's second face, registered like those of the first. */
export function testCells(options: CellLaws): void {
  describe(`cells: ${options.name}`, () => {
    const laws = { ...cellRowLaws, ...cellBucketLaws, ...cellLimitLaws, ...cellConcurrencyLaws }
    for (const [name, law] of Object.entries(laws)) test(name, () => runCellLaw(options, law))
  })
}

async function runCellLaw(options: CellLaws, law: CellLaw): Promise<void> {
  const clock = clockAtServerTime()
  const ends: (() => MaybePromise<void>)[] = []
  const another = async (): Promise<Cells> => {
    const { cells, end } = await options.create({ clock })
    ends.push(() => cells.close(), ...(end === undefined ? [] : [end]))
    return cells
  }
  try {
    await law({ cells: await another(), clock, rounds: options.rounds ?? 30, another })
  } finally {
    for (const end of ends) await end()
  }
}
