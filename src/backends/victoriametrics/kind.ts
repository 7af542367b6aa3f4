/** VictoriaMetrics, as far as it is known without its backend. */
import { section } from '../../config/definition.ts'
import type { DatabaseKind } from '../kind.ts'
import { explainRanges } from '../matrix/explain.ts'
import { rangeQueryPath } from '../matrix/paths.ts'
import { type PromqlReason, promqlReasons } from '../matrix/reasons.ts'
import { speaksPrometheus } from '../matrix/spoken.ts'
import { endpoints } from '../matrix/whole-endpoints.ts'
import { flavour } from './flavour.ts'

export const victoriametricsKind: DatabaseKind<PromqlReason> = {
  label: 'VictoriaMetrics',
  known: 'VictoriaMetrics',
  // The single-node server, and vmselect of a cluster.
  ports: [8428, 8481],
  flavour,
  section: section({}),
  reasons: promqlReasons,
  endpoints,
  explain: explainRanges(rangeQueryPath),
  clientLines: ({ url, which }) => [
    `In Grafana, set the URL of the Prometheus or VictoriaMetrics data source${which} to ${url}`,
  ],
  // A shape is the same as one of Prometheus, whose kind reads it.
  shapeText: () => undefined,
  isSpokenBy: speaksPrometheus,
  examine: async () => [],
  load: async () => {
    const { victoriametrics } = await import('./index.ts')
    return { create: (options) => ({ backend: victoriametrics(options) }) }
  },
}
