/**
 * Distinguishes M3 from other servers with Prometheus' API: by its namespaces, because it has no build info. Which of
 * several namespaces answers, and so at which resolution, depends on how far back a request reaches: only M3 with one
 * is known.
 */
import { fieldsIn, hasFields } from '../../core/json-object.ts'
import type { Flavour, FlavourProbe } from '../backend.ts'

export const flavour: FlavourProbe = { path: '/api/v1/services/m3db/namespace', read }

function read(status: number, body: string): Flavour {
  const { registry } = status === 200 ? fieldsIn(body) : {}
  if (!hasFields(registry) || !hasFields(registry['namespaces']))
    return { isKnown: false, isUnreadable: true, label: `no namespaces of M3 (status ${status})` }
  const count = Object.keys(registry['namespaces']).length
  if (count === 1) return { isKnown: true, label: 'M3' }
  return { isKnown: false, label: `M3 with ${count} namespaces: which of them answers depends on the range` }
}
