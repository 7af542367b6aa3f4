/** Reasons that databases of different languages have: declared once, so that one word has one meaning. */
import type { ReasonWords } from '../core/decision.ts'

export const sharedReasons = {
  unsafe_function: {
    meaning: 'a function whose value is not known to be local to its step',
    remedy: 'Rewrite the query; docs/reference/promql.md lists the functions that can be cut into buckets.',
  },
  limit: {
    meaning: 'the limit parameter truncates the whole answer',
    remedy: 'Do without the limit parameter; topk or limitk in the query can be cached.',
  },
} as const satisfies Readonly<Record<string, ReasonWords>>
