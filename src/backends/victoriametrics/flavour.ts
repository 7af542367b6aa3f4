/** Distinguishes VictoriaMetrics from other servers with Prometheus' API. */
import type { Flavour, FlavourProbe } from '../backend.ts'
import { buildInfoPath, noBuildInfo, readBuildInfo } from '../matrix/build-info.ts'

export const flavour: FlavourProbe = { path: buildInfoPath, read }

/**
 * VictoriaMetrics names only the version of the Prometheus that it is compatible with. Prometheus has a revision and a Go
 * version besides, and others that speak its API have some of that, or name an application.
 */
function read(status: number, body: string): Flavour {
  const info = readBuildInfo(status, body)
  if (info === undefined) return noBuildInfo(status)
  const isIt = Object.keys(info).join() === 'version' && /^2\.\d+\.\d+$/.test(String(info.version))
  if (isIt) return { isKnown: true, label: 'VictoriaMetrics' }
  return { isKnown: false, label: `not VictoriaMetrics (version ${String(info.version)})` }
}
