/** Prometheus, as far as it is known without its backend. */
import { matrixKind } from '../matrix/kind.ts'
import { matrixSection } from '../matrix/section.ts'
import { shapeText } from '../matrix/shape-text.ts'
import { flavour } from './flavour.ts'

export const prometheusKind = matrixKind({
  label: 'Prometheus',
  known: 'Prometheus 2 and 3',
  ports: [],
  flavour,
  section: matrixSection,
  shapeText,
  examine: async (subject, database) => (await import('./examine.ts')).examinePrometheus(subject, database),
  load: async () => {
    const { prometheus } = await import('./index.ts')
    return {
      create: (options, { assume }) => ({
        backend: prometheus({
          get settledAgeMs() {
            return options.settledAgeMs
          },
          maxBuckets: options.maxBuckets,
          assume,
        }),
      }),
    }
  },
})
