/** Cortex, as far as it is known without its backend. */
import { matrixKind } from '../matrix/kind.ts'
import { type SettledAge, settledAgeSection } from '../matrix/settled-age.ts'
import { flavour } from './flavour.ts'

export const cortexKind = matrixKind<SettledAge>({
  label: 'Cortex',
  known: 'Cortex',
  ports: [],
  flavour,
  section: settledAgeSection,
  load: async () => {
    const { cortex } = await import('./index.ts')
    return { create: (options, { settledAgeMs }) => ({ backend: cortex(options), settledAgeMs }) }
  },
})
