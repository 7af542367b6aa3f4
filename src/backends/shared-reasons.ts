/** Reasons that databases of different languages have: declared once, so that one word has one meaning. */
import type { ReasonWords } from '../core/decision.ts'

export const sharedReasons = {
  unsafe_function: {
    meaning: 'a function whose value is not known to be local to its step',
    remedy: 'Rewrite the query; docs/reference/promql.md lists the functions that can be cut into buckets.',
  },
  limit: {
    meaning: 'a limit truncates the answer as a whole',
    remedy: 'Do without the limit; topk in PromQL and most LIMITs in SQL can be cached.',
  },
} as const satisfies Readonly<Record<string, ReasonWords>>
