/** What can be done about queries that are passed on uncached, by reason. */
import { kindNames, kinds } from '../../backends/kinds.ts'
import type { BypassReason } from '../../core/decision.ts'

const known = kindNames.map((name) => kinds[name].known).join(' and ')

const rewrite = 'Rewrite the query; docs/reference/promql.md lists what can be cut into buckets.'

export const bypassRemedies: Readonly<Record<BypassReason, string>> = {
  not_a_query: 'Nothing: it is not a range query.',
  malformed_request: 'Look at what the client sends with windowpane tail --reason malformed_request.',
  missing_parameter: 'Look at what the client sends with windowpane tail --reason missing_parameter.',
  invalid_parameter: 'Look at what the client sends with windowpane tail --reason invalid_parameter.',
  too_many_buckets: 'Ask with a larger step, or raise limits.maxBuckets.',
  unparseable_query: 'Check the query; syntax that is newer than this version is passed on.',
  depends_on_range: rewrite,
  unsafe_offset: 'Do without negative or computed offsets where you can.',
  recent_at_modifier: 'Let @ point to data that no longer changes, or do without it.',
  sorting: 'Take sort functions out of range queries: they never order a range answer.',
  unnamed_range_selector: 'Name the metric in the range selector.',
  unsafe_function: rewrite,
  limit: 'Do without the limit parameter; topk or limitk in the query can be cached.',
  stats: 'Ask for statistics only where they are looked at.',
  no_time_grouping: 'Group by time: only answers in time buckets can be kept in parts.',
  irregular_granularity: 'Take a period of one unit, or count it from an origin in UTC.',
  not_decomposable: 'windowpane tail --reason not_decomposable says what; ask for it in a query of its own.',
  other_query_type: 'Nothing: only timeseries, groupBy and topN have time buckets.',
  other_encoding: 'Let the client ask for plain JSON.',
  partial_results: 'Do without partial results where you can.',
  unknown_flavour: `Only ${known} are cached; windowpane check --connect says what answers.`,
  switched_off: 'windowpane mode <backend> on, or look for rules with bypass: true or mode: off.',
  shadow: 'windowpane shadow report says whether it is safe to switch on.',
  no_store: 'Find out which client sends Cache-Control: no-store, or whether the database does.',
  unusable_answer: 'Look at what the database answers with windowpane tail --reason unusable_answer.',
  answer_too_large: 'Raise limits.maxAnswer, or ask for fewer series.',
  memory_exhausted: 'Raise limits.memory, or ask for fewer series at once.',
  store_failed: 'Look at the log of the proxy: its store fails.',
}
