/** Distinguishes Grafana Mimir from other servers with Prometheus' API: it names itself. */
import { buildInfoProbe } from '../matrix/build-info.ts'

export const flavour = buildInfoProbe(({ version, application }) => {
  if (application !== 'Grafana Mimir') return { isKnown: false, label: `not Mimir (version ${version})` }
  const numbers = /^v?(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number)
  return { isKnown: true, label: `Mimir ${version}`.trim(), ...(numbers && { version: numbers }) }
})
