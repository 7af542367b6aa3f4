/** The keys of `backends.<name>` that only Prometheus has. */
import { key, optional, section, type TypeValue } from '../../config/definition.ts'
import { bool, choice, count } from '../../config/scalars.ts'
import { assumptions } from '../matrix/section.ts'

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
    comparisons: key(count({ min: 1 }), 200, {
      meaning:
        'how many answers that would have come from the cache must have equalled those of the assumed server, in each worker, before the mode can be `on`; one that differs without a known cause starts the count anew',
      apply: 'reopen',
    }),
  },
  { shorthand: 'server' },
)

export const prometheusSection = section(assumptions(assume))

export type PrometheusConfig = TypeValue<typeof prometheusSection>
