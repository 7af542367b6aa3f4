/** Prometheus, as far as it is known without its backend. */
import { section } from '../../config/definition.ts'
import type { DatabaseKind } from '../kind.ts'
import { explainRanges } from '../matrix/explain.ts'
import { rangeQueryPath } from '../matrix/paths.ts'
import { type PromqlReason, promqlReasons } from '../matrix/reasons.ts'
import { shapeText } from '../matrix/shape-text.ts'
import { speaksPrometheus } from '../matrix/spoken.ts'
import { endpoints } from '../matrix/whole-endpoints.ts'
import { flavour } from './flavour.ts'

export const prometheusKind: DatabaseKind<PromqlReason> = {
  label: 'Prometheus',
  known: 'Prometheus 2 and 3',
  ports: [],
  flavour,
  section: section({}),
  reasons: promqlReasons,
  endpoints,
  explain: explainRanges(rangeQueryPath),
  clientLines: ({ url, which }) => [
    `In Grafana, set the URL of the Prometheus data source${which} to ${url}`,
  ],
  shapeText,
  isSpokenBy: speaksPrometheus,
  examine: async (subject, database) => (await import('./examine.ts')).examinePrometheus(subject, database),
  load: async () => {
    const { prometheus } = await import('./index.ts')
    return { create: (options) => ({ backend: prometheus(options) }) }
  },
}
