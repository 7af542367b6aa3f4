/** Which proxy an admin listener belongs to: named before anything there is changed. */
import { type AdminAddress, fetchJson, unreachable } from './admin-client.ts'
import type { CommandIo } from './command.ts'
import type { Failure } from './exit-codes.ts'
import { oneLine } from './text.ts'

export interface UpstreamStatus {
  readonly url: string
  readonly healthy: boolean
  readonly failures: number
  readonly lastError?: string
}

/** The proxy in `/-/status`. Proxies of other versions may lack members. */
export interface ProxyIdentity {
  readonly version: string
  readonly pid?: number
  readonly configuration?: {
    readonly source?: string
    readonly lastReload?: { readonly ok: boolean; readonly message: string }
  }
  readonly backends?: readonly BackendStatus[]
}

interface BackendStatus {
  readonly name: string
  readonly upstreams: readonly UpstreamStatus[]
  /** Why it stays in shadow mode although another mode is set. */
  readonly heldBack?: string
}

/** `Windowpane 0.1.0 at http://127.0.0.1:9192 (pid 4711, configuration windowpane.yaml, main → http://prometheus:9090/)`. */
export function proxyText(
  { url }: AdminAddress,
  { version, pid, configuration, backends = [] }: ProxyIdentity,
): string {
  const parts = [
    ...(pid === undefined ? [] : [`pid ${pid}`]),
    ...(configuration?.source === undefined ? [] : [`configuration ${configuration.source}`]),
    ...backends.map(({ name, upstreams }) => `${name} → ${upstreams.map((each) => each.url).join(' ')}`),
  ]
  return oneLine(`Windowpane ${version} at ${url}${parts.length === 0 ? '' : ` (${parts.join(', ')})`}`)
}

/** Prints on stderr which proxy is meant; a failure where none answers. */
export async function nameProxy(address: AdminAddress, io: CommandIo): Promise<Failure | undefined> {
  const status = await fetchJson<Partial<ProxyIdentity>>(address, '/-/status', { io })
  if ('code' in status) return status
  const { version } = status.data
  if (typeof version !== 'string')
    return unreachable(address.url, new Error('the server there is no Windowpane'))
  io.err(`windowpane: talking to ${proxyText(address, { ...status.data, version })}\n`)
  return undefined
}
