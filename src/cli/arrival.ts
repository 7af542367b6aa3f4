/** The output once the proxy listens: its findings, the addresses, and the changes to make at the clients. */
import { hostname } from 'node:os'
import type { Flavour } from '../backends/backend.ts'
import { kinds } from '../backends/kinds.ts'
import { usualAdminAddress } from '../config/checks.ts'
import type { DetectedKinds } from '../config/detect.ts'
import type { Config } from '../config/schema.ts'
import { socketPathOf } from '../core/socket-address.ts'
import type { Mode } from '../proxy/request/settings.ts'
import { version } from '../version.ts'

export interface ArrivedDatabase {
  readonly name: string
  /** Where its requests are answered, without the path of its route. */
  readonly url: string
  readonly flavour: Flavour
  /** As in `/-/ready`. */
  readonly isReady: boolean
  readonly mode: Mode
}

export interface Arrived {
  readonly config: Config
  /** The kinds of the databases. */
  readonly kinds: DetectedKinds
  readonly databases: readonly ArrivedDatabase[]
  /** The URL of the admin listener, or why there is none although there should be. */
  readonly admin: { readonly url: string } | { readonly trouble: string } | undefined
}

/** One line per database comes first: programs read those, the others are for people. */
export function arrivalLines(arrived: Arrived): string[] {
  return [
    ...arrived.databases.map((database) => listeningLine(arrived, database)),
    ...arrived.databases.flatMap((database) => clientLines(arrived, database)),
    ...adminLines(arrived),
  ]
}

function listeningLine(arrived: Arrived, database: ArrivedDatabase): string {
  const { address, target, state } = placeOf(arrived, database)
  return `windowpane ${version} is listening: ${address} → ${target} (${state})`
}

/** The address of a database, the origin of its data, and whether it is cached. */
export function placeOf(
  { config, kinds: found }: Pick<Arrived, 'config' | 'kinds'>,
  database: ArrivedDatabase,
) {
  const { kind, isGuessed } = found.get(database.name)!
  const { label } = kinds[kind]
  const assumed = isGuessed
    ? `; assuming ${label}, by its port (set backends.${database.name}.type to be certain)`
    : ''
  return {
    address: addressOf(config, database),
    target: new URL(config.backends[database.name]!.url[0]!).href,
    state: `${database.flavour.label}${assumed}; ${cachingOf(database, label)}`,
  }
}

const cachingIn: Readonly<Record<Mode, string>> = {
  on: 'caching is on',
  shadow: 'caching is in shadow mode: the database answers, and the cache is compared',
  off: 'caching is off: mode off',
}

function cachingOf({ flavour, isReady, mode }: ArrivedDatabase, label: string): string {
  if (!isReady) return 'not ready: requests fail until it answers'
  if (flavour.isKnown || mode === 'off') return cachingIn[mode]
  return `caching is off until it is known to be ${label}: requests are forwarded`
}

function clientLines(
  { config, kinds: found, databases }: Arrived,
  database: ArrivedDatabase,
): readonly string[] {
  const { name, url } = database
  const which = databases.length > 1 ? ` of ${name}` : ''
  const address = addressOf(config, { name, url: reachable(url) })
  if (socketPathOf(url) !== undefined) {
    return [`Let your reverse proxy pass requests${which} to ${address}: Grafana cannot use a unix socket.`]
  }
  return kinds[found.get(name)!.kind].clientLines({ url: address, which })
}

function adminLines({ config, admin }: Arrived): string[] {
  if (admin === undefined) return []
  if ('trouble' in admin) return [`There is no admin listener: ${admin.trouble}`]
  const isUsual = config.admin.listen === usualAdminAddress
  const url = reachable(admin.url)
  if (socketPathOf(url) !== undefined) return [`Look inside: windowpane top --admin ${url}`]
  return [`Look inside: ${url}/-/ or windowpane top${isUsual ? '' : ` --admin ${url}`}`]
}

/** With the name and the path by which requests for this database are known. */
function addressOf({ backends }: Config, { name, url }: Pick<ArrivedDatabase, 'name' | 'url'>): string {
  const { host, path = '' } = backends[name]!.route
  if (socketPathOf(url) !== undefined) return [url, host, path].filter((part) => part).join(' ')
  return `${host === undefined ? url : url.replace(/\/\/.*(?=:\d+$)/, `//${host}`)}${path}`
}

/** An address that means all interfaces of this machine means nothing elsewhere: the host name replaces it. */
export const reachable = (url: string): string =>
  url.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:|$)/, `//${hostname()}`)
