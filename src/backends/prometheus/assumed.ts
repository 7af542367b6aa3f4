/** A server that does not report to be of a kind, but is declared as one by the configuration. */
import type { Backend, Flavour, FlavourProbe } from '../backend.ts'

/** A login page or an error reports nothing about the server; servers without build info have a missing page there. */
export function assumedBy(probe: FlavourProbe): FlavourProbe {
  return {
    path: probe.path,
    read(status, body): Flavour {
      const found = probe.read(status, body)
      const isServer = found.isUnreadable === true ? status === 404 : status === 200
      if (found.isKnown || !isServer) return found
      return { isKnown: true, isAssumed: true, label: `assumed to be Prometheus: ${found.label}` }
    },
  }
}

const exceptions = ['assume.server']

/** The backend with its answers named as an exception, where the server is assumed. */
export function assuming<Query, Own extends string>(backend: Backend<Query, Own>): Backend<Query, Own> {
  return {
    ...backend,
    flavour: assumedBy(backend.flavour),
    plan(query, now, flavour) {
      const plan = backend.plan(query, now, flavour)
      if ('bypass' in plan || flavour?.isAssumed !== true) return plan
      return { ...plan, exceptions: [...(plan.exceptions ?? []), ...exceptions] }
    },
  }
}
