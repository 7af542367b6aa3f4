/** Distinguishes Grafana Mimir from other servers with Prometheus' API: it names itself. */
import { buildInfoProbe, numbersOf } from '../matrix/build-info.ts'

export const flavour = buildInfoProbe(({ version, application }) => {
  if (application !== 'Grafana Mimir') return { isKnown: false, label: `not Mimir (version ${version})` }
  return { isKnown: true, label: `Mimir ${version}`.trim(), version: numbersOf(version) }
})
