/** The listeners of a server: one per address, each with the databases that are to be reached there. */
import type { CutReason } from '../../core/decision.ts'
import { allOn } from '../../core/runtime.ts'
import { socketPathOf } from '../../core/socket-address.ts'
import type { Arrivals } from '../front/arrivals.ts'
import { type Listener, openListener } from '../front/listener.ts'
import { answererOf } from '../request/dispatch.ts'
import { narrowness } from '../request/routes.ts'
import type { BackendRuntime } from './backend-runtime.ts'
import type { DatabaseOptions, ProxyServerOptions } from './options.ts'

type ServedDatabase = DatabaseOptions & { readonly backendRuntime: BackendRuntime }

export async function openListeners(
  { listen, limits, runtime = allOn, clock, tls, telemetry, parts }: ProxyServerOptions,
  databases: readonly ServedDatabase[],
  arrivals: Arrivals,
): Promise<Map<string, Listener>> {
  const listeners = new Map<string, Listener>()
  const onCertificate = (error: string | undefined) =>
    telemetry?.log.change('certificate of the listener', {
      is: error ?? 'in force',
      isGood: error === undefined,
    })
  const onCut = (reason: CutReason) => telemetry?.metrics.observeCut(reason)
  const byClaim = databases.toSorted((a, b) => narrowness(b.route) - narrowness(a.route))
  for (const [address, group] of Map.groupBy(byClaim, (database) => database.listen ?? listen)) {
    if (parts?.opensSockets === false && socketPathOf(address) !== undefined) {
      listeners.set(address, { url: address, close: async () => {} })
      continue
    }
    const secure = tls && { tls, onCertificate }
    const reusePort = parts?.reusePort === true
    const { name, listen: own } = group[0]!
    const flag = own === undefined ? '--listen' : `--backends.${name}.listen`
    const listening = { address, flag, limits, runtime, clock, reusePort, arrivals, onCut, ...secure }
    const answer = answererOf(group)
    const listener = openListener(listening, answer, answer)
    listeners.set(address, await listener.catch((error) => closeAll(listeners, error)))
  }
  return listeners
}

async function closeAll(listeners: ReadonlyMap<string, Listener>, error: unknown): Promise<never> {
  await Promise.all([...listeners.values()].map((listener) => listener.close()))
  throw error
}
