/** The keys of `backends.<name>` that databases have that speak Prometheus' HTTP API. */
import { key, nested, optional, section, type TypeValue } from '../../config/definition.ts'
import { choice, count } from '../../config/scalars.ts'

const assume = section(
  {
    server: optional(
      choice('prometheus'),
      'what the server is, where it does not report a database that is known: its answers are then cut as those of Prometheus. `assume: prometheus` is short for it. It stays in shadow mode until `comparisons` are done',
      { apply: 'restart' },
    ),
    comparisons: key(count({ min: 1 }), 200, {
      meaning:
        'how many answers that would have come from the cache must have equalled those of the assumed server, in each worker, before the mode can be `on`; one that differs without a known cause starts the count anew',
      apply: 'restart',
    }),
  },
  { shorthand: 'server' },
)

/** Prometheus' own keys. */
export const matrixSection = section({
  assume: nested(
    assume,
    'what is taken for granted about the server; answers that depend on it name it in `Cache-Status`',
    { apply: 'restart' },
  ),
})

export type MatrixConfig = TypeValue<typeof matrixSection>
