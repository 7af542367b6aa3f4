/** Cortex, as far as it is known without its backend. */
import { matrixKind } from '../matrix/kind.ts'
import { settledAgeSection, settledLater } from '../matrix/settled-age.ts'
import { flavour } from './flavour.ts'

export const cortexKind = matrixKind({
  label: 'Cortex',
  known: 'Cortex',
  ports: [],
  flavour,
  section: settledAgeSection,
  load: async () => settledLater((await import('./index.ts')).cortex),
})
