/** Opens the far stores of the configuration; a store that cannot be opened costs only its content. */
import type { Config } from '../config/schema.ts'
import { storesInUse } from '../config/settings.ts'
import { systemClock } from '../core/clock.ts'
import type { FarStore } from '../proxy/assembly/tiers.ts'
import type { Settings } from '../proxy/request/settings.ts'
import type { StoreRules } from '../stores/kind.ts'
import { kindOfStore } from '../stores/kinds.ts'
import type { Log } from '../telemetry/log.ts'

export interface FarStoreParts {
  /** Called for every write: a reload takes effect with the next one. */
  readonly settings: () => ReadonlyMap<string, Settings>
  /** The configuration in force. */
  readonly config: () => Config
  readonly log: Log
  /** Of these nothing is opened. */
  readonly isOpen?: (name: string) => boolean
}

export async function openFarStores(
  config: Config,
  { log, isOpen, ...parts }: FarStoreParts,
): Promise<ReadonlyMap<string, FarStore>> {
  const opened = new Map<string, FarStore>()
  const used = storesInUse(config)
  for (const [name, store] of Object.entries(config.stores)) {
    const kind = kindOfStore(store)
    if (!kind.isFar || !used.has(name) || isOpen?.(name)) continue
    const { type: engine, timeoutMs = kind.timeoutMs, noticeMs, leaseMs } = store
    const far = await kind.open(store, rulesFor(name, config, { ...parts, timeoutMs }))
    if ('refused' in far) {
      const { refused: trouble, detail, remedy } = far
      const message = `stores.${name}: ${detail} (${trouble}); buckets are kept in memory only`
      log.line('warn', message, { remedy })
      opened.set(name, { engine, state: 'missing', trouble, detail: `${detail}; ${remedy}` })
    } else {
      if (far.notice !== undefined) log.line('warn', `stores.${name}: ${far.notice}`)
      opened.set(name, { ...far, engine, timeoutMs, noticeMs, leaseMs })
    }
  }
  return opened
}

function rulesFor(
  name: string,
  { limits }: Config,
  { settings, config, timeoutMs }: Pick<FarStoreParts, 'settings' | 'config'> & Pick<StoreRules, 'timeoutMs'>,
): StoreRules {
  const { memoryBytes, retentionMs, maxBucketsPerShape } = limits
  const users = () => Object.entries(config().backends).filter(([, { store }]) => store === name)
  return {
    ...{ clock: systemClock, memoryBytes, retentionMs, maxBucketsPerShape, timeoutMs },
    // Settled for every policy of the backends that use the store.
    get settledAgeMs() {
      return Math.max(0, ...users().map(([user]) => settings().get(user)!.terms.policy.settledAgeMs))
    },
  }
}
