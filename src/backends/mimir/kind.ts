/** Grafana Mimir, as far as it is known without its backend. */
import { matrixKind } from '../matrix/kind.ts'
import { type SettledAge, settledAgeSection } from '../matrix/settled-age.ts'
import { flavour } from './flavour.ts'

export const mimirKind = matrixKind<SettledAge>({
  label: 'Mimir',
  known: 'Mimir',
  ports: [9009],
  flavour,
  section: settledAgeSection,
  load: async () => {
    const { mimir } = await import('./index.ts')
    return { create: (options, { settledAgeMs }) => ({ backend: mimir(options), settledAgeMs }) }
  },
})
