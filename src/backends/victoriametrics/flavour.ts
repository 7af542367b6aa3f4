/** Distinguishes VictoriaMetrics from other servers with Prometheus' API. */
import { buildInfoProbe } from '../matrix/build-info.ts'

/**
 * VictoriaMetrics names only the version of the Prometheus that it is compatible with. Prometheus has a revision and a Go
 * version besides, and others that speak its API have some of that, or name an application.
 */
export const flavour = buildInfoProbe((info) => {
  const isIt = Object.keys(info).join() === 'version' && /^2\.\d+\.\d+$/.test(info.version)
  if (isIt) return { isKnown: true, label: 'VictoriaMetrics' }
  return { isKnown: false, label: `not VictoriaMetrics (version ${info.version})` }
})
