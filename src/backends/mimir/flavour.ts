/** Distinguishes Grafana Mimir from other servers with Prometheus' API: it names itself. */
import type { Flavour, FlavourProbe } from '../backend.ts'
import { buildInfoPath, noBuildInfo, readBuildInfo } from '../matrix/build-info.ts'

export const flavour: FlavourProbe = { path: buildInfoPath, read }

function read(status: number, body: string): Flavour {
  const info = readBuildInfo(status, body)
  if (info === undefined) return noBuildInfo(status)
  const version = String(info.version)
  if (info.application !== 'Grafana Mimir') return { isKnown: false, label: `not Mimir (version ${version})` }
  const numbers = /^v?(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number)
  return { isKnown: true, label: `Mimir ${version}`.trim(), ...(numbers && { version: numbers }) }
}
