/** VictoriaMetrics, as far as it is known without its backend. */
import { matrixKind } from '../matrix/kind.ts'
import { flavour } from './flavour.ts'

export const victoriametricsKind = matrixKind({
  label: 'VictoriaMetrics',
  known: 'VictoriaMetrics',
  // The single-node server, and vmselect of a cluster.
  ports: [8428, 8481],
  flavour,
  clientLines: ({ url, which }) => [
    `In Grafana, set the URL of the Prometheus or VictoriaMetrics data source${which} to ${url}`,
  ],
  examine: async (subject, database) => (await import('./examine.ts')).examineFlags(subject, database),
  load: async () => {
    const { victoriametrics } = await import('./index.ts')
    return { create: (options) => ({ backend: victoriametrics(options) }) }
  },
})
