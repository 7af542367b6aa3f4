/** The keys of a Redis or Valkey store, and the URLs that set them. */
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
import { certificateIsWhole } from '../../config/tls-check.ts'
import type { RefusedUrl, StoreUrl, UrlKeys } from '../kind.ts'
import {
  loginIn,
  loginKeys,
  notPercentEncoded,
  passwordIsOne,
  refusedTlsKeys,
  restart,
  tlsKeys,
} from '../server-keys.ts'
import type { Host } from './library.ts'

const sentinelPasswordIsOne: Check = {
  run(value: RedisConfig, report) {
    if (value.sentinelPassword !== undefined && value.sentinelPasswordFile !== undefined)
      report('sentinelPasswordFile', 'is set as well as the password itself: set one of them')
  },
}

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
    checks: [certificateIsWhole, passwordIsOne, sentinelPasswordIsOne, hostsAreKnown],
    refused: refusedTlsKeys,
  },
)

export { redisSection }
export type RedisConfig = TypeValue<typeof redisSection>

const defaultPort = 6379
const defaultSentinelPort = 26_379

const hostPattern = /^(\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/

function refusalOfHosts(hosts: string): string | undefined {
  const bad = hosts.split(',').find((host) => !hostPattern.test(host.trim()))
  return bad === undefined ? undefined : 'expected HOST:PORT, or several separated by commas'
}

/** Those of a configuration that was checked. */
export function hostsOf({ hosts, sentinel }: Pick<RedisConfig, 'hosts' | 'sentinel'>): Host[] {
  const usual = sentinel === undefined ? defaultPort : defaultSentinelPort
  return hosts.split(',').map((text) => {
    const [, host = '', port] = hostPattern.exec(text.trim()) ?? []
    return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? usual : Number(port) }
  })
}

const encrypted: readonly string[] = ['rediss', 'valkeys']
export const schemes: readonly string[] = ['redis', 'valkey', ...encrypted]

export const urlForm = 'redis://HOST:6379/0'

/** `redis://user:password@h1:6379,h2:6379/0`; `rediss:` and `valkeys:` encrypt. A password may be percent-encoded. */
export function readRedisUrl({ scheme, place }: StoreUrl): UrlKeys | RefusedUrl {
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
