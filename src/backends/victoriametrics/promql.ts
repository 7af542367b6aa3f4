/**
 * What VictoriaMetrics computes from one step alone, of PromQL; what only MetricsQL has does not parse here.
 *
 * VictoriaMetrics estimates the interval between the samples of a series from the last twenty samples before the end of
 * the request, and takes the estimate for the range of a selector that has none. Functions that look at the sample before
 * their range (rate, increase, delta, changes, resets and others) use it too, and they also ask whether any sample follows
 * before the end of the request. So their values at one step change with the request's start and end, and a cut shows:
 * they are not in the list. Functions over an explicit range that look at nothing else are.
 */
import type { Bypass } from '../backend.ts'
import {
  createExaminer as createMatrixExaminer,
  type Dialect,
  type Examine,
  words,
} from '../matrix/promql.ts'

const dialect: Dialect = {
  // Not in the list either: scalar, which counts the series of the whole range; label_replace and label_join, because two
  // series that they make equal are an error even where they never coexist.
  functions: words(`
    abs absent absent_over_time acos acosh asin asinh atan atanh avg_over_time ceil clamp clamp_max clamp_min cos cosh
    count_over_time day_of_month day_of_week day_of_year days_in_month deg exp first_over_time floor histogram_quantile
    hour last_over_time ln log10 log2 mad_over_time max_over_time min_over_time minute month pi predict_linear
    present_over_time quantile_over_time rad round sgn sin sinh sqrt stddev_over_time stdvar_over_time sum_over_time tan
    tanh time vector year`),
  aggregations: words('avg count group max min stddev stdvar sum'),
  // Not in the list: topk and bottomk, which put the answer into an order of their own.
  parametricAggregations: words('quantile'),
  refusedNodes: new Map([
    ['Or', 'or: its result is not in label order'],
    [
      'MatchingModifierClause',
      'on, ignoring, group_left, group_right: series that match twice are merged or refused by how much they overlap',
    ],
  ]),
  refusesBareSelectors:
    'a selector without a range, whose lookback is estimated from all samples of the request',
  vectorArgument: new Map([
    ['histogram_quantile', 1],
    ['quantile_over_time', 1],
  ]),
}

export function createExaminer(): Examine {
  const examine = createMatrixExaminer(dialect)
  return (text) => {
    const examined = examine(text)
    return 'bypass' in examined || examined.namesAll ? examined : unnamed
  }
}

/** Series that are equal without their names are an error over the whole range. */
const unnamed: Bypass = { bypass: 'unnamed_range_selector', detail: 'a selector without a metric name' }
