/** Clients as the store needs them: they fail fast, and connect again by themselves for as long as it takes. */
import type { Clock } from '../../core/clock.ts'
import type { Refused } from '../kind.ts'
import { type Login, readLogin, readTls, type TlsSecrets } from '../server-secrets.ts'
import { hostsOf } from './hosts.ts'
import type { RedisConfig } from './kind.ts'
import type { RedisClient, RedisLibrary } from './library.ts'
import { scripts } from './scripts.ts'

export interface ClientOptions {
  readonly library: RedisLibrary
  readonly config: RedisConfig
  readonly clock: Clock
  /** A command that takes longer fails. */
  readonly timeoutMs: number
}

const connectTimeoutMs = 2000
const firstRetryMs = 50
const longestRetryMs = 2000
/** A connection on which nothing comes back for this many command timeouts is given up and made again. */
const silentTimeouts = 8
const keepAliveMs = 10_000
const clusterRefreshMs = 5000
/** Moved slots are followed this often for one command. */
const maxRedirections = 4

interface Logins {
  readonly server: Login
  readonly sentinel: Login
}

function readLogins(config: RedisConfig): Logins | Refused {
  const server = readLogin(config)
  if ('refused' in server) return server
  const { sentinelUsername: username, sentinelPassword: password, sentinelPasswordFile } = config
  const sentinel = readLogin({ username, password, passwordFile: sentinelPasswordFile })
  return 'refused' in sentinel ? sentinel : { server, sentinel }
}

/** Returns a function that makes clients, or why passwords or certificates cannot be read. */
export function clientMaker(options: ClientOptions): (() => RedisClient) | Refused {
  const logins = readLogins(options.config)
  if ('refused' in logins) return logins
  const tls = readTls(options.config)
  if (tls !== undefined && 'refused' in tls) return tls
  return () => makeClient(options, logins, tls)
}

function makeClient(options: ClientOptions, logins: Logins, tls: TlsSecrets | undefined): RedisClient {
  const { library, config } = options
  const hosts = hostsOf(config)
  const server = { ...serverOptions(options), ...logins.server, ...(tls && { tls }) }
  if (config.cluster) return new library.Cluster(hosts, clusterOptions(options, server))
  const retryStrategy = function (this: object, attempt: number): number {
    Object.assign(this, newestLogin(config))
    return retryDelay(options.clock, attempt)
  }
  const one = { ...server, retryStrategy, enableOfflineQueue: false, scripts, db: config.database }
  if (config.sentinel === undefined) return new library.Redis({ ...hosts[0], ...one })
  return new library.Redis({ ...one, ...sentinelOptions(options, logins, tls), sentinels: hosts })
}

const serverOptions = ({ timeoutMs }: ClientOptions) => ({
  commandTimeout: timeoutMs,
  connectTimeout: connectTimeoutMs,
  socketTimeout: timeoutMs * silentTimeouts,
  keepAlive: keepAliveMs,
  connectionName: 'windowpane',
  // Commands of a lost connection fail, and their caller decides: none waits, none is sent twice.
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  // A primary that became a replica: a new connection finds the new primary.
  reconnectOnError: (error: Error) => error.message.includes('READONLY'),
})

function clusterOptions({ config, clock }: ClientOptions, server: object): object {
  return {
    scripts,
    enableOfflineQueue: false,
    slotsRefreshTimeout: connectTimeoutMs,
    slotsRefreshInterval: clusterRefreshMs,
    maxRedirections,
    // Names stay names: certificates are issued for them, not for addresses.
    dnsLookup: (host: string, found: (error: null, address: string) => void) => found(null, host),
    redisOptions: server,
    clusterRetryStrategy(attempt: number): number {
      Object.assign(server, newestLogin(config))
      return retryDelay(clock, attempt)
    },
  }
}

function sentinelOptions({ config, clock }: ClientOptions, { sentinel }: Logins, tls?: TlsSecrets): object {
  return {
    name: config.sentinel,
    sentinelUsername: sentinel.username,
    sentinelPassword: sentinel.password,
    sentinelCommandTimeout: connectTimeoutMs,
    sentinelRetryStrategy: (attempt: number) => retryDelay(clock, attempt),
    ...(tls && { sentinelTLS: tls, enableTLSForSentinelMode: true }),
  }
}

/** The password of the file as it is now; nothing where it cannot be read, so that the last one is tried again. */
function newestLogin(config: RedisConfig): object {
  const login = readLogin(config)
  return 'refused' in login ? {} : login
}

/** Longer after every attempt, and of a random length, so that the nodes of a fleet do not come back all at once. */
const retryDelay = (clock: Clock, attempt: number): number =>
  Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(attempt, 10)) * (0.5 + clock.random() / 2)
