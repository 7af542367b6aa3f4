/** Thanos, as far as it is known without its backend. */
import { section, type TypeValue } from '../../config/definition.ts'
import { matrixKind } from '../matrix/kind.ts'
import { matrixKeys } from '../matrix/section.ts'
import { settledAgeKeys } from '../matrix/settled-age.ts'
import { flavour } from './flavour.ts'

const thanosSection = section({ ...matrixKeys, ...settledAgeKeys })

export const thanosKind = matrixKind<TypeValue<typeof thanosSection>>({
  label: 'Thanos',
  known: 'Thanos',
  ports: [10902],
  flavour,
  section: thanosSection,
  load: async () => {
    const { thanos } = await import('./index.ts')
    return {
      create(options, { settledAgeMs, assume: { replicas } }) {
        const own = {
          get settledAgeMs() {
            return options.settledAgeMs
          },
          maxBuckets: options.maxBuckets,
          replicas,
        }
        return { backend: thanos(own), settledAgeMs }
      },
    }
  },
})
