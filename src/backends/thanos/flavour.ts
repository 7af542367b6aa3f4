/**
 * Distinguishes Thanos from other servers with Prometheus' API: by its flags. Its build info may be empty, and the
 * flags show whether replicas are deduplicated. A query-frontend forwards the request to the querier behind it.
 */
import { fieldsIn, hasFields } from '../../core/json-object.ts'
import type { Flavour, FlavourProbe } from '../backend.ts'

export const flavour: FlavourProbe = { path: '/api/v1/status/flags', read }

/** The trait of a querier that picks samples from replicas, each by the samples that it picked before. */
export const picksReplicas = 'picks replicas'

function read(status: number, body: string): Flavour {
  const { data: flags } = status === 200 ? fieldsIn(body) : {}
  if (!hasFields(flags)) return { isKnown: false, isUnreadable: true, label: `no flags (status ${status})` }
  const isIt = 'query.partial-response' in flags && 'query.replica-label' in flags
  if (!isIt) return { isKnown: false, label: 'not Thanos' }
  // The other way is `chain`: all samples of all replicas.
  const picks =
    !/^(?:\[\])?$/.test(String(flags['query.replica-label'])) && flags['deduplication.func'] !== 'chain'
  const label = `Thanos (${picks ? 'deduplicating' : 'not deduplicating'})`
  return { isKnown: true, label, ...(picks && { traits: [picksReplicas] }) }
}
