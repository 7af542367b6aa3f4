/** M3, as far as it is known without its backend. */
import { matrixKind } from '../matrix/kind.ts'
import { type SettledAge, settledAgeSection } from '../matrix/settled-age.ts'
import { flavour } from './flavour.ts'

export const m3Kind = matrixKind<SettledAge>({
  label: 'M3',
  known: 'M3 with one namespace',
  ports: [7201],
  flavour,
  section: settledAgeSection,
  load: async () => {
    const { m3 } = await import('./index.ts')
    return { create: (options, { settledAgeMs }) => ({ backend: m3(options), settledAgeMs }) }
  },
})
