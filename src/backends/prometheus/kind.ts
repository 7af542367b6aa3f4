/** Prometheus, as far as it is known without its backend. */
import type { DatabaseKind } from '../kind.ts'
import { buildInfoPath } from '../matrix/build-info.ts'
import { rangeQueryPath } from '../matrix/paths.ts'
import { shapeText } from '../matrix/shape-text.ts'
import { readFlavour } from './flavour.ts'

export const prometheusKind: DatabaseKind = {
  label: 'Prometheus',
  known: 'Prometheus 2 and 3',
  ports: [],
  flavourPath: buildInfoPath,
  readFlavour,
  clientLines: ({ url, which }) => [
    `In Grafana, set the URL of the Prometheus data source${which} to ${url}`,
  ],
  queryPath: () => rangeQueryPath,
  shapeText,
  load: async () => (await import('./index.ts')).prometheus,
}
