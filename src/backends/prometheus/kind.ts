/** Prometheus, as far as it is known without its backend. */
import { matrixKind, optionsWith } from '../matrix/kind.ts'
import { shapeText } from '../matrix/shape-text.ts'
import { assumedBy, assuming } from './assumed.ts'
import { flavour } from './flavour.ts'
import { type PrometheusConfig, prometheusSection } from './section.ts'

const label = 'Prometheus'

export const prometheusKind = matrixKind<PrometheusConfig>({
  label,
  known: 'Prometheus 2 and 3',
  ports: [],
  flavour,
  assumedFlavour: ({ assume }) => (assume.server === undefined ? undefined : assumedBy(flavour)),
  section: prometheusSection,
  shapeText,
  examine: async (subject, database) => (await import('./examine.ts')).examinePrometheus(subject, database),
  load: async () => {
    const { prometheus } = await import('./index.ts')
    return {
      create(options, { assume }) {
        const backend = prometheus(optionsWith(options, { assume }))
        const { server, comparisons } = assume
        if (server === undefined) return { backend }
        return { backend: assuming(backend), probation: { label, comparisons } }
      },
    }
  },
})
