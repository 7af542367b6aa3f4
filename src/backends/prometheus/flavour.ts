/** Which server answers behind the Prometheus API. Only Prometheus itself is known to be decomposable as planned here. */
import type { Flavour, FlavourProbe } from '../backend.ts'
import { buildInfoPath, readBuildInfo } from '../matrix/build-info.ts'

export const flavour: FlavourProbe = { path: buildInfoPath, read }

/**
 * Prometheus tells version (2 or 3), revision and Go version, and nothing of an application. Others that speak its
 * API leave some of it out (VictoriaMetrics), count from 0 (Thanos) or name themselves (Mimir, Cortex).
 */
function read(status: number, body: string): Flavour {
  const info = readBuildInfo(status, body)
  if (info === undefined) return { isKnown: false, label: `no build info (status ${status})` }
  const version = String(info.version ?? 'of unknown version')
  if (info.application !== undefined)
    return { isKnown: false, label: `${String(info.application)} ${version}` }
  const tellsAll = typeof info.revision === 'string' && typeof info.goVersion === 'string'
  if (tellsAll && /^v?[23]\.\d/.test(version)) {
    return { isKnown: true, label: `Prometheus ${version}`, version: numbersOf(version) }
  }
  return { isKnown: false, label: `not Prometheus (version ${version})` }
}

const numbersOf = (version: string): number[] => (version.match(/^v?(\d+)\.(\d+)/) ?? []).slice(1).map(Number)
