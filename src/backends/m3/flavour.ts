/**
 * Distinguishes M3 from other servers with Prometheus' API: by its namespaces, because it has no build info. Which of
 * several namespaces answers, and so at which resolution, depends on how far back a request reaches: only M3 with one
 * is known.
 */
import type { Flavour, FlavourProbe } from '../backend.ts'

export const flavour: FlavourProbe = { path: '/api/v1/services/m3db/namespace', read }

function read(status: number, body: string): Flavour {
  const namespaces = status === 200 ? readNamespaces(body) : undefined
  if (namespaces === undefined)
    return { isKnown: false, isUnreadable: true, label: `no namespaces of M3 (status ${status})` }
  if (namespaces.length === 1) return { isKnown: true, label: 'M3' }
  const why = 'which of them answers depends on the range'
  return { isKnown: false, label: `M3 with ${namespaces.length} namespaces: ${why}` }
}

function readNamespaces(body: string): readonly string[] | undefined {
  try {
    const { registry } = JSON.parse(body) as { registry?: { namespaces?: object | null } | null }
    return typeof registry?.namespaces === 'object' && registry.namespaces !== null
      ? Object.keys(registry.namespaces)
      : undefined
  } catch {
    return undefined
  }
}
