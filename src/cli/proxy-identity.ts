/** Which proxy an admin listener belongs to: named before anything there is changed. */
import { type AdminClient, fetchJson, findAdmin, noWindowpane } from './admin-client.ts'
import type { CommandIo, Given } from './command.ts'
import { oneLine } from './text.ts'

/** The content of `/-/status`. Proxies of other versions may lack members. */
export interface ProxyStatus {
  readonly version: string
  readonly pid?: number
  readonly uptimeSeconds?: number
  readonly configuration?: {
    readonly source?: string
    readonly inForceSince?: string
    readonly lastReload?: { readonly at: string; readonly ok: boolean; readonly message: string }
  }
  readonly memory?: { readonly used: number; readonly limit: number }
  readonly stores?: readonly StoreStatus[]
  readonly backends?: readonly BackendStatus[]
  readonly fleet?: FleetStatus
}

export interface StoreStatus {
  readonly name: string
  readonly engine: string
  readonly state: string
  readonly detail: string
  readonly entries?: number
}

export interface BackendStatus {
  readonly name: string
  readonly url: string
  readonly mode: string
  /** Why it stays in shadow mode although another mode is set. */
  readonly heldBack?: string
  readonly flavour: { readonly label: string }
  readonly requests: number
  readonly flights: number
  readonly upstreams: readonly UpstreamStatus[]
}

export interface UpstreamStatus {
  readonly url: string
  readonly healthy: boolean
  readonly failures: number
  readonly lastError?: string
}

/** About the nodes that share a store. */
export interface FleetStatus {
  readonly state: string
  readonly detail?: string
  readonly up: number
  readonly missing: number
}

/** `Windowpane 0.1.0 at http://127.0.0.1:9192 (pid 4711, configuration windowpane.yaml, main → http://prometheus:9090/)`. */
export function proxyText(
  { url }: AdminClient,
  { version, pid, configuration, backends = [] }: ProxyStatus,
): string {
  const parts = [
    ...(pid === undefined ? [] : [`pid ${pid}`]),
    ...(configuration?.source === undefined ? [] : [`configuration ${configuration.source}`]),
    ...backends.map(({ name, upstreams }) => `${name} → ${upstreams.map((each) => each.url).join(' ')}`),
  ]
  return oneLine(`Windowpane ${version} at ${url}${parts.length === 0 ? '' : ` (${parts.join(', ')})`}`)
}

/** @throws Failure where no Windowpane answers. */
export async function fetchStatus(admin: AdminClient, parameters = ''): Promise<ProxyStatus> {
  const status = await fetchJson<ProxyStatus>(admin, `/-/status${parameters}`)
  if (typeof status.version !== 'string') throw noWindowpane(admin)
  return status
}

/** Finds the proxy of a command that changes something, and prints on stderr which one it is. @throws Failure */
export async function findNamedProxy(given: Given, io: CommandIo): Promise<AdminClient> {
  const admin = await findAdmin(given, io)
  io.err(`windowpane: talking to ${proxyText(admin, await fetchStatus(admin))}\n`)
  return admin
}

/** How many nodes a change reaches, and how soon. */
export interface Reach {
  readonly nodes: number
  readonly withinSeconds: number
}

export const reachText = (reach: Reach | undefined): string =>
  reach === undefined || reach.nodes < 2 ? '' : ` at ${reach.nodes} nodes, within ${reach.withinSeconds} s,`
