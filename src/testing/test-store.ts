/**
 * The laws of a store, as tests: `testStore({ … })` in a test file registers them with node:test. An engine that
 * cannot keep one names it in `skip` and says why.
 */
import { describe, test } from 'node:test'
import type { EpochMs } from '../core/clock.ts'
import type { MaybePromise, Store } from '../stores/store.ts'
import { type FakeClock, fakeClock } from './fake-clock.ts'
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
  /** How many random histories are tried; 40 unless told. */
  readonly rounds?: number
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

async function run(options: StoreLaws, law: StoreLaw): Promise<void> {
  const clock = fakeClock()
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
