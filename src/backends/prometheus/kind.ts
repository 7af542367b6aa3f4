/** Prometheus, as far as it is known without its backend. */
import type { DatabaseKind } from '../kind.ts'
import { type PromqlReason, promqlReasons } from '../matrix/reasons.ts'
import { flavour } from './flavour.ts'
import { rangeQueryPath } from './paths.ts'
import { shapeText } from './shape-text.ts'

export const prometheusKind: DatabaseKind<PromqlReason> = {
  label: 'Prometheus',
  known: 'Prometheus 2 and 3',
  ports: [],
  flavour,
  clientLines: ({ url, which }) => [
    `In Grafana, set the URL of the Prometheus data source${which} to ${url}`,
  ],
  queryPath: () => rangeQueryPath,
  shapeText,
  reasons: promqlReasons,
  load: async () => (await import('./index.ts')).prometheus,
}
