/** M3, as far as it is known without its backend. */
import { matrixKind } from '../matrix/kind.ts'
import { settledAgeSection, settledLater } from '../matrix/settled-age.ts'
import { flavour } from './flavour.ts'

export const m3Kind = matrixKind({
  label: 'M3',
  known: 'M3 with one namespace',
  ports: [7201],
  flavour,
  section: settledAgeSection,
  load: async () => settledLater((await import('./index.ts')).m3),
})
