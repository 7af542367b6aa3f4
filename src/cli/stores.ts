/** Opens the far stores that the configuration names; one that cannot be opened costs what it keeps, nothing else. */
import { policyOf } from '../config/policy-types.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import type { FarStore } from '../proxy/assembly/tiers.ts'
import type { StoreRules } from '../stores/kind.ts'
import { kindOfStore } from '../stores/kinds.ts'
import type { Log } from '../telemetry/log.ts'

export async function openFarStores(config: Config, log: Log): Promise<ReadonlyMap<string, FarStore>> {
  const opened = new Map<string, FarStore>()
  const used = new Set(Object.values(config.backends).map((backend) => backend.store))
  for (const [name, store] of Object.entries(config.stores)) {
    const kind = kindOfStore(store)
    if (!kind.isFar || !used.has(name)) continue
    const far = await kind.open(store, rulesFor(name, config, store.timeoutMs ?? kind.timeoutMs))
    if ('refused' in far) {
      const { detail, remedy } = far
      log.line('warn', `stores.${name}: ${detail} (${far.refused}); buckets are kept in memory only`, {
        remedy,
      })
      opened.set(name, {
        engine: store.type,
        state: 'missing',
        trouble: far.refused,
        detail: `${detail}; ${remedy}`,
      })
    } else {
      if (far.notice !== undefined) log.line('warn', `stores.${name}: ${far.notice}`)
      const { timeoutMs = kind.timeoutMs, noticeMs, leaseMs } = store
      opened.set(name, { ...far, engine: store.type, timeoutMs, noticeMs, leaseMs })
    }
  }
  return opened
}

function rulesFor(name: string, { backends, policies, limits }: Config, timeoutMs: number): StoreRules {
  const users = Object.values(backends).filter((backend) => backend.store === name)
  const { memoryBytes, retentionMs, maxBucketsPerShape } = limits
  // Settled for every policy of the backends that use the store.
  const settledAgeMs = Math.max(...users.map(({ policy }) => policyOf(policies[policy]!).settledAgeMs))
  return { clock: systemClock, memoryBytes, retentionMs, maxBucketsPerShape, settledAgeMs, timeoutMs }
}
