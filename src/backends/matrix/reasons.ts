/** Why range queries of PromQL over the HTTP API of Prometheus are bypassed: for every database that speaks it. */
import type { ReasonWords } from '../../core/decision.ts'
import type { Bypass } from '../backend.ts'
import { sharedReasons } from '../shared-reasons.ts'

export const promqlReasons = {
  depends_on_range: {
    meaning:
      'an expression whose value depends on the whole range: @ start(), @ end(), start(), end(), range(), step()',
    remedy: 'Rewrite the query; docs/reference/promql.md lists the functions that can be cut into buckets.',
  },
  unsafe_offset: {
    meaning: 'a computed offset, or a negative one on a database whose negative offsets are not cached',
    remedy: 'Write offsets as plain durations.',
  },
  recent_at_modifier: {
    meaning: 'an @ modifier that points to data which may still change',
    remedy: 'Let @ point to data that no longer changes, or do without it.',
  },
  sorting: {
    meaning:
      'sort functions inside of another expression, where the order of series can change sums and ties',
    remedy:
      'Take sort functions out of range queries, or put them outermost: they never order a range answer.',
  },
  unnamed_range_selector: {
    meaning: 'a range function over several metric names: its whole-range error cannot be reproduced',
    remedy: 'Name the metric in the range selector.',
  },
  ...sharedReasons,
  other_engine: {
    meaning: 'the request selects a query engine whose responses have another form (M3: engine=m3query)',
    remedy: 'Let the engine of Prometheus answer: take the engine parameter or the M3-Engine header out.',
  },
  stats: {
    meaning: 'query statistics belong to one execution',
    remedy: 'Request statistics only where they are used.',
  },
} as const satisfies Readonly<Record<string, ReasonWords>>

export type PromqlReason = keyof typeof promqlReasons
export type PromqlBypass = Bypass<PromqlReason>
