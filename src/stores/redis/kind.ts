/** Redis or Valkey as a kind of store: one server, a primary behind sentinels, or a cluster. */
import type { OpenedStore, Refused, StoreKind, StoreRules } from '../kind.ts'
import { type RedisConfig, readRedisUrl, redisSection, schemes, urlForm } from './config.ts'

export const redisKind: StoreKind<RedisConfig> = {
  schemes,
  urlForm,
  section: redisSection,
  readUrl: readRedisUrl,
  isFar: true,
  isRemote: true,
  capabilities: { cells: true, ttl: 'ms', pubsub: true },
  timeoutMs: 250,
  placeOf: ({ hosts, database, prefix }) => ({ key: 'hosts', place: `${hosts}/${database} ${prefix}` }),
  examine: async (config, clock) => (await import('./examine.ts')).examineRedis(config, clock),
  inspect: async (config, clock) => (await import('./examine.ts')).inspectRedis(config, clock),
  setup: {
    definition: ({ prefix }) =>
      `# Nothing has to be created. All keys begin with "${prefix}:", and expire by themselves.\n`,
    async create(config, clock) {
      const { inspectRedis } = await import('./examine.ts')
      const inspected = await inspectRedis(config, clock)
      return 'refused' in inspected ? inspected : { created: [] }
    },
  },
  open: openRedis,
}

async function openRedis(config: RedisConfig, rules: StoreRules): Promise<OpenedStore | Refused> {
  const { openRedisStore } = await import('./index.ts')
  const { clock, retentionMs, timeoutMs } = rules
  return openRedisStore({ config, clock, retentionMs, timeoutMs })
}
