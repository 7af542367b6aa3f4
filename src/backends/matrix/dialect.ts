/**
 * The functions that the query engine of Prometheus computes from one step alone: its own, and engines that follow it.
 */
import { words } from './names.ts'
import type { Dialect } from './promql.ts'

/** Not in the list: info(), which looks for its labels over the whole range. */
const functions = words(`
  abs absent absent_over_time acos acosh asin asinh atan atanh avg_over_time ceil changes clamp clamp_max clamp_min
  cos cosh count_over_time day_of_month day_of_week day_of_year days_in_month deg delta deriv
  double_exponential_smoothing exp first_over_time floor histogram_avg histogram_count histogram_fraction
  histogram_quantile histogram_quantiles histogram_stddev histogram_stdvar histogram_sum hour idelta increase irate
  label_join label_replace last_over_time ln log10 log2 mad_over_time max_over_time min_over_time minute month pi
  predict_linear present_over_time quantile_over_time rad rate resets round scalar sgn sin sinh sqrt start_timestamp
  stddev_over_time stdvar_over_time sum_over_time tan tanh time timestamp ts_of_first_over_time ts_of_last_over_time
  ts_of_max_over_time ts_of_min_over_time vector year`)
const aggregations = words('avg count group max min stddev stdvar sum')
/** Not in the list: limitk, which takes series in the order the storage yields them, and that depends on the range. */
const parametricAggregations = words('bottomk count_values limit_ratio quantile topk')

/** Without the parts that depend on the version, or on the server around the engine. */
export const promqlDialect: Dialect = { functions, aggregations, parametricAggregations }
