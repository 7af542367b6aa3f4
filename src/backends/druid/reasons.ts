/** Why queries of Druid are bypassed. */
import type { ReasonWords } from '../../core/decision.ts'
import type { Bypass as BackendBypass } from '../backend.ts'
import { sharedReasons } from '../shared-reasons.ts'

export const druidReasons = {
  no_time_grouping: {
    meaning: 'no time buckets: granularity all or none, or SQL that is not grouped by time',
    remedy: 'Group by time: only answers in time buckets can be kept in parts.',
  },
  irregular_granularity: {
    meaning: 'a granularity whose buckets do not lie on a grid that we know',
    remedy: 'Take a period of one unit, or count it from an origin in UTC.',
  },
  not_decomposable: {
    meaning:
      'an answer that cannot be put together from parts: totals, subtotals, nested or joined data, lookups, an order that the rows do not show',
    remedy: 'windowpane tail --reason not_decomposable shows the part; request it in a query of its own.',
  },
  other_query_type: {
    meaning: 'a type of query whose answer has no time buckets (scan, search, timeBoundary and others)',
    remedy: 'Nothing: only timeseries, groupBy and topN have time buckets.',
  },
  other_encoding: {
    meaning: 'an answer in another encoding than the plain one (Smile, indented JSON)',
    remedy: 'Let the client request plain JSON.',
  },
  partial_results: {
    meaning:
      'the client accepts incomplete answers, or requests their report (returnPartialResults and others)',
    remedy: 'Do without partial results where you can.',
  },
  ...sharedReasons,
} as const satisfies Readonly<Record<string, ReasonWords>>

export type DruidReason = keyof typeof druidReasons
export type Bypass = BackendBypass<DruidReason>
/** Any reason that a plan of Druid may give. */
export type BypassReason = Bypass['bypass']

export const malformed = (detail: string): Bypass => ({ bypass: 'malformed_request', detail })
export const invalid = (detail: string): Bypass => ({ bypass: 'invalid_parameter', detail })
export const unparseable = (detail: string): Bypass => ({ bypass: 'unparseable_query', detail })
export const notDecomposable = (detail: string): Bypass => ({ bypass: 'not_decomposable', detail })
