/** Thanos, as far as it is known without its backend. */
import { matrixKind } from '../matrix/kind.ts'
import { type SettledAge, settledAgeSection } from '../matrix/settled-age.ts'
import { flavour } from './flavour.ts'

export const thanosKind = matrixKind<SettledAge>({
  label: 'Thanos',
  known: 'Thanos',
  ports: [10902],
  flavour,
  section: settledAgeSection,
  load: async () => {
    const { thanos } = await import('./index.ts')
    return { create: (options, { settledAgeMs }) => ({ backend: thanos(options), settledAgeMs }) }
  },
})
