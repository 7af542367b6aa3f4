/** Distinguishes Cortex from other servers with Prometheus' API. */
import { buildInfoProbe } from '../matrix/build-info.ts'

/** Build info in the form of Prometheus, which is at 2 and 3, as is that of Thanos, which is at 0. */
export const flavour = buildInfoProbe((info) => {
  const { version } = info
  const isIt = /^v?1\.\d+\.\d+/.test(version) && info.application === undefined && 'goVersion' in info
  return isIt
    ? { isKnown: true, label: `Cortex ${version}` }
    : { isKnown: false, label: `not Cortex (version ${version})` }
})
