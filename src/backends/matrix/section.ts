/** The keys of `backends.<name>` that databases have that speak Prometheus' HTTP API. */
import { key, nested, optional, section, type TypeValue } from '../../config/definition.ts'
import { bool, choice, count } from '../../config/scalars.ts'

const assume = section(
  {
    server: optional(
      choice('prometheus'),
      'the database that an unknown server is compatible with: its responses are then cut as those of Prometheus. `assume: prometheus` is short for it. The backend stays in shadow mode until `comparisons` are done',
      { apply: 'reopen' },
    ),
    mergedLabels: key(bool, false, {
      meaning:
        'Prometheus before 3.9: cache `label_replace` and `label_join` also where they may make two series equal that have no step in common. Such a query fails in these versions; it is answered from parts as 3.9 answers it',
      apply: 'reopen',
    }),
    replicas: key(bool, false, {
      meaning:
        "Thanos: cache deduplicated answers too. Which replica a sample is taken from depends on where a request begins, so that a value may be the other replica's",
      apply: 'reopen',
    }),
    comparisons: key(count({ min: 1 }), 200, {
      meaning:
        'how many answers that would have come from the cache must have equalled those of the assumed server, in each worker, before the mode can be `on`; one that differs without a known cause starts the count anew',
      apply: 'reopen',
    }),
  },
  { shorthand: 'server' },
)

/** The keys of Prometheus; Thanos has them too. */
export const matrixKeys = {
  assume: nested(
    assume,
    'assumptions about the server; `Cache-Status` names them on responses that depend on them',
    { apply: 'reopen' },
  ),
}

export const matrixSection = section(matrixKeys)

export type MatrixConfig = TypeValue<typeof matrixSection>

/** Opt-in exceptions from answering as the server does, where planning depends on them. */
export type Assumptions = Pick<MatrixConfig['assume'], 'mergedLabels'>
