/** Opens the durable stores that the configuration names; one that cannot be opened costs durability, nothing else. */
import { policyOf } from '../config/policy-types.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import type { FarStore } from '../proxy/assembly/tiers.ts'
import { openLmdbStore } from '../stores/lmdb/index.ts'
import type { Io } from './config-file.ts'

export async function openFarStores(config: Config, io: Io): Promise<ReadonlyMap<string, FarStore>> {
  const opened = new Map<string, FarStore>()
  const used = new Set(Object.values(config.backends).map((backend) => backend.store))
  for (const [name, store] of Object.entries(config.stores)) {
    if (store.type !== 'lmdb' || !used.has(name)) continue
    const lmdb = await openLmdbStore({
      clock: systemClock,
      directory: store.path,
      maxBytes: store.sizeBytes,
      reserveBytes: store.reserveBytes,
      retentionMs: config.limits.retentionMs,
      maxBucketsPerShape: config.limits.maxBucketsPerShape,
      settledAgeMs: settledAge(config, name),
    })
    if ('refused' in lmdb) {
      io.err(`windowpane: stores.${name}: ${lmdb.detail}; buckets are kept in memory only\n${lmdb.remedy}\n`)
      opened.set(name, { state: 'missing', trouble: lmdb.refused, detail: lmdb.detail })
    } else {
      const { setAside } = lmdb.health
      if (setAside !== undefined) io.err(`windowpane: stores.${name}: ${whySetAside(setAside)}\n`)
      opened.set(name, lmdb)
    }
  }
  return opened
}

const whySetAside = (reason: string): string =>
  `its file could not be trusted (${reason}) and was set aside; a new one was begun, and nothing has to be done`

/** Settled for every policy of the backends that use the store. */
function settledAge({ backends, policies }: Config, name: string): number {
  const users = Object.values(backends).filter((backend) => backend.store === name)
  return Math.max(...users.map((backend) => policyOf(policies[backend.policy]!).settledAgeMs))
}
