/** Redis or Valkey as a kind of store: one server, a primary behind sentinels, or a cluster. */
import {
  type Check,
  key,
  optional,
  required,
  secret,
  section,
  type TypeValue,
} from '../../config/definition.ts'
import { bool, count } from '../../config/scalars.ts'
import { hidden, path, text } from '../../config/text-scalars.ts'
import { certificateIsWhole, refusedTlsKeys } from '../../config/tls-check.ts'
import type { RefusedUrl, StoreKind, StoreUrl, UrlKeys } from '../kind.ts'
import { loginIn, loginKeys, notPercentEncoded, onePassword, restart, tlsKeys } from '../server-keys.ts'
import { refusalOfHosts } from './hosts.ts'

const hostsAreKnown: Check = {
  run(value: RedisConfig, report) {
    const refusal = refusalOfHosts(value.hosts)
    if (refusal !== undefined) report('hosts', refusal)
    if (value.cluster && value.sentinel !== undefined)
      report('sentinel', 'a cluster has no sentinels: set one of "cluster" and "sentinel"')
    if (value.cluster && value.database !== 0) report('database', 'a cluster has only database 0')
    if (!/^[\w.:-]+$/.test(value.prefix)) report('prefix', 'expected letters, digits, and any of _ . : -')
  },
}

const redisSection = section(
  {
    hosts: required(
      text,
      'HOST:PORT of the server; of sentinels or of a cluster several, separated by commas',
      restart,
    ),
    database: key(count({ min: 0, max: 1_000_000 }), 0, {
      meaning: 'the number of the database',
      ...restart,
    }),
    sentinel: optional(text, 'the name of the primary, where `hosts` are sentinels', restart),
    cluster: key(bool, false, { meaning: 'whether `hosts` are nodes of a cluster', ...restart }),
    prefix: key(text, 'windowpane', { meaning: 'the prefix of every key and channel', ...restart }),
    ...loginKeys,
    sentinelUsername: optional(text, 'the user of the sentinels', restart),
    sentinelPasswordFile: optional(path, 'the file with the password of the sentinels', restart),
    sentinelPassword: secret(hidden, 'the password of the sentinels', restart),
    ...tlsKeys,
  },
  {
    checks: [certificateIsWhole, onePassword('password'), onePassword('sentinelPassword'), hostsAreKnown],
    refused: refusedTlsKeys,
  },
)

export type RedisConfig = TypeValue<typeof redisSection>

const encrypted: readonly string[] = ['rediss', 'valkeys']

export const redisKind: StoreKind<RedisConfig> = {
  schemes: ['redis', 'valkey', ...encrypted],
  urlForm: 'redis://HOST:6379/0',
  section: redisSection,
  readUrl: keysIn,
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
  async open(config, { clock, retentionMs, timeoutMs }) {
    const { openRedisStore } = await import('./index.ts')
    return openRedisStore({ config, clock, retentionMs, timeoutMs })
  },
}

/** `redis://user:password@h1:6379,h2:6379/0`; `rediss:` and `valkeys:` encrypt. A password may be percent-encoded. */
function keysIn({ scheme, place }: StoreUrl): UrlKeys | RefusedUrl {
  const [, user, hosts = '', database = ''] = /^\/\/(?:(.*)@)?([^/@]+)(?:\/(\d*))?$/s.exec(place) ?? []
  if (refusalOfHosts(hosts) !== undefined)
    return { refused: `names no server: expected ${scheme}://HOST:PORT/DATABASE` }
  const login = loginIn(user ?? '')
  if (login === undefined) return { refused: notPercentEncoded }
  return {
    hosts,
    ...(database !== '' && { database }),
    ...login,
    ...(encrypted.includes(scheme) && { tls: 'true' }),
  }
}
