/** Thanos, as far as it is known without its backend. */
import { key, section, type TypeValue } from '../../config/definition.ts'
import { bool } from '../../config/scalars.ts'
import { matrixKind, optionsWith } from '../matrix/kind.ts'
import { assumptions } from '../matrix/section.ts'
import { settledAgeKeys } from '../matrix/settled-age.ts'
import { flavour } from './flavour.ts'

const assume = section({
  replicas: key(bool, false, {
    meaning:
      "Thanos: cache deduplicated answers too. Which replica a sample is taken from depends on where a request begins, so that a value may be the other replica's",
    apply: 'reopen',
  }),
})

const thanosSection = section({ ...assumptions(assume), ...settledAgeKeys })

export const thanosKind = matrixKind<TypeValue<typeof thanosSection>>({
  label: 'Thanos',
  known: 'Thanos',
  ports: [10902],
  flavour,
  section: thanosSection,
  load: async () => {
    const { thanos } = await import('./index.ts')
    return {
      create: (options, { settledAgeMs: settlesAfterMs, assume: { replicas } }) => ({
        backend: thanos(optionsWith(options, { settlesAfterMs, replicas })),
      }),
    }
  },
})
