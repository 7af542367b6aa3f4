/** VictoriaMetrics, as far as it is known without its backend. */
import type { DatabaseKind } from '../kind.ts'
import { buildInfoPath } from '../matrix/build-info.ts'
import { rangeQueryPath } from '../matrix/paths.ts'
import { readFlavour } from './flavour.ts'

export const victoriametricsKind: DatabaseKind = {
  label: 'VictoriaMetrics',
  known: 'VictoriaMetrics',
  // The single-node server, and vmselect of a cluster.
  ports: [8428, 8481],
  flavourPath: buildInfoPath,
  readFlavour,
  clientLines: ({ url, which }) => [
    `In Grafana, set the URL of the Prometheus or VictoriaMetrics data source${which} to ${url}`,
  ],
  queryPath: () => rangeQueryPath,
  // A shape is the same as one of Prometheus, whose kind reads it.
  shapeText: () => undefined,
  load: async () => (await import('./index.ts')).victoriametrics,
}
