/** What is said once the proxy is ready: what was found, where to look, and what to change in Grafana. */
import { hostname } from 'node:os'
import type { Config } from '../config/schema.ts'
import type { House } from '../proxy/server.ts'
import { version } from '../version.ts'

type Database = House['databases'][number]

/** The first lines say that each database is ready; programs read those, the others are for people. */
export function arrivalLines(config: Config, databases: readonly Database[], adminUrl?: string): string[] {
  return [
    ...databases.map((database) => readyLine(config, database)),
    ...databases.map((database) => grafanaLine(config, database, databases.length > 1)),
    ...(adminUrl === undefined ? [] : [lookLine(config, adminUrl)]),
  ]
}

function readyLine(config: Config, { name, url, flavour }: Database): string {
  const backend = config.backends[name]!
  const state = flavour.isKnown
    ? flavour.label
    : `${flavour.label}: requests are passed on uncached until it is known to be Prometheus`
  const target = new URL(backend.url[0]!).href
  return `windowpane ${version} is ready: ${addressOf(config, { name, url })} → ${target} (${state})`
}

function grafanaLine(config: Config, { name, url }: Database, isOneOfSeveral: boolean): string {
  const which = isOneOfSeveral ? ` of ${name}` : ''
  const address = addressOf(config, { name, url: reachable(url) })
  return `In Grafana, set the URL of the Prometheus data source${which} to ${address}`
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
