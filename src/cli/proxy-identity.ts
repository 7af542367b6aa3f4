/** Which proxy an admin listener belongs to: named before anything there is changed. */
import type { viewOfFleet } from '../proxy/admin/fleet.ts'
import type { AdminStatus } from './admin.ts'
import { type AdminClient, fetchJson, findAdmin, type Lenient, noWindowpane } from './admin-client.ts'
import type { CommandIo, Given } from './command.ts'
import { oneLine } from './text.ts'

/** The content of `/-/status`. */
export interface ProxyStatus {
  readonly version: string
  readonly pid?: number
  readonly uptimeSeconds?: number
  readonly configuration?: Partial<AdminStatus['configuration']>
  readonly memory?: AdminStatus['memory']
  readonly stores?: readonly StoreStatus[]
  readonly backends?: readonly BackendStatus[]
  readonly fleet?: FleetStatus
}

export type StoreStatus = Lenient<AdminStatus['stores'][number], 'name' | 'engine' | 'state' | 'detail'>

export type BackendStatus = Lenient<
  AdminStatus['backends'][number],
  'name' | 'url' | 'mode' | 'flavour' | 'requests' | 'flights' | 'upstreams'
>

export type UpstreamStatus = BackendStatus['upstreams'][number]

/** About the nodes that share a store. */
export type FleetStatus = Lenient<ReturnType<typeof viewOfFleet>['fleet'], 'state' | 'up' | 'missing'>

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
