/** Grafana Mimir, as far as it is known without its backend. */
import { matrixKind } from '../matrix/kind.ts'
import { settledAgeSection, settledLater } from '../matrix/settled-age.ts'
import { flavour } from './flavour.ts'

export const mimirKind = matrixKind({
  label: 'Mimir',
  known: 'Mimir',
  ports: [9009],
  flavour,
  section: settledAgeSection,
  load: async () => settledLater((await import('./index.ts')).mimir),
})
