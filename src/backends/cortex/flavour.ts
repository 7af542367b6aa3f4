/** Distinguishes Cortex from other servers with Prometheus' API. */
import type { Flavour, FlavourProbe } from '../backend.ts'
import { buildInfoPath, noBuildInfo, readBuildInfo } from '../matrix/build-info.ts'

export const flavour: FlavourProbe = { path: buildInfoPath, read }

/** Build info in the form of Prometheus, which is at 2 and 3, as is that of Thanos, which is at 0. */
function read(status: number, body: string): Flavour {
  const info = readBuildInfo(status, body)
  if (info === undefined) return noBuildInfo(status)
  const version = String(info.version)
  const isIt = /^v?1\.\d+\.\d+/.test(version) && info.application === undefined && 'goVersion' in info
  return isIt
    ? { isKnown: true, label: `Cortex ${version}` }
    : { isKnown: false, label: `not Cortex (version ${version})` }
}
