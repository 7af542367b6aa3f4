/** The keys of `backends.<name>` that databases have that speak Prometheus' HTTP API. */
import { key, nested, section, type TypeValue } from '../../config/definition.ts'
import { bool } from '../../config/scalars.ts'

const assume = section({
  mergedLabels: key(bool, false, {
    meaning:
      'Prometheus before 3.9: cache `label_replace` and `label_join` also where they may make two series equal that have no step in common. Such a query fails in these versions; it is answered from parts as 3.9 answers it',
    apply: 'restart',
  }),
})

/** Prometheus' own keys. */
export const matrixSection = section({
  assume: nested(
    assume,
    'what is taken for granted about the server; answers that depend on it name it in `Cache-Status`',
    { apply: 'restart' },
  ),
})

export type MatrixConfig = TypeValue<typeof matrixSection>

/** Opt-in exceptions from answering as the server does. */
export type Assumptions = MatrixConfig['assume']
