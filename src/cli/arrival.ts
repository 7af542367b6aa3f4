/** What is said once the proxy is ready: what was found, where to look, and what to change at the clients. */
import { hostname } from 'node:os'
import { kinds } from '../backends/kinds.ts'
import type { DetectedKinds } from '../config/detect.ts'
import type { Config } from '../config/schema.ts'
import type { ProxyServer } from '../proxy/assembly/server.ts'
import { version } from '../version.ts'

type Database = Pick<ProxyServer['databases'][number], 'name' | 'url' | 'flavour'>

export interface Arrived {
  readonly config: Config
  /** What the databases are. */
  readonly kinds: DetectedKinds
  readonly databases: readonly Database[]
  readonly adminUrl: string | undefined
}

/** The first lines say that each database is ready; programs read those, the others are for people. */
export function arrivalLines(arrived: Arrived): string[] {
  const { config, databases, adminUrl } = arrived
  return [
    ...databases.map((database) => readyLine(arrived, database)),
    ...databases.flatMap((database) => clientLines(arrived, database)),
    ...(adminUrl === undefined ? [] : [lookLine(config, adminUrl)]),
  ]
}

function readyLine({ config, kinds: found }: Arrived, { name, url, flavour }: Database): string {
  const { kind, isGuessed } = found.get(name)!
  const { label } = kinds[kind]
  const guess = isGuessed ? `taken for ${label} by its port (backends.${name}.type can say better); ` : ''
  const state = flavour.isKnown
    ? flavour.label
    : `${flavour.label}: ${guess}requests are passed on uncached until it is known to be ${label}`
  const target = new URL(config.backends[name]!.url[0]!).href
  return `windowpane ${version} is ready: ${addressOf(config, { name, url })} → ${target} (${state})`
}

function clientLines(
  { config, kinds: found, databases }: Arrived,
  { name, url }: Database,
): readonly string[] {
  const which = databases.length > 1 ? ` of ${name}` : ''
  const address = addressOf(config, { name, url: reachable(url) })
  return kinds[found.get(name)!.kind].clientLines({ url: address, which })
}

function lookLine({ admin }: Config, url: string): string {
  const isUsual = admin.listen === '127.0.0.1:9192'
  return `Look inside: ${reachable(url)}/-/ or windowpane top${isUsual ? '' : ` --admin ${reachable(url)}`}`
}

/** With the name and the path by which requests for this database are known. */
function addressOf({ backends }: Config, { name, url }: Pick<Database, 'name' | 'url'>): string {
  const { host, path = '' } = backends[name]!.route
  return `${host === undefined ? url : url.replace(/\/\/.*(?=:\d+$)/, `//${host}`)}${path}`
}

/** An address that means all of this machine's is none that can be typed. */
const reachable = (url: string): string => url.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:|$)/, `//${hostname()}`)
