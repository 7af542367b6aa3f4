/**
 * Query forms that the packaged server does not read, or reads as something else: syntax and functions of later
 * versions, and words that became syntax in them. The planner refuses syntax that is newer than the newest.
 */
import { bypassed, each, eligible, type Form, failing } from '../fidelity/form.ts'
import { durations, ofTheRange, words } from './newer-words.ts'

/** The feature flags of 3.14. */
export const newerFeatures = [
  'promql-experimental-functions',
  'promql-extended-range-selectors',
  'promql-binop-fill-modifiers',
].join(',')

/** Series that come and go on both sides, so that there is something to fill. */
const fills = eligible(
  'only_first_hours + fill(0) only_last_hours_total',
  'only_first_hours + fill(-1.5) only_last_hours_total',
  'only_first_hours - fill_left(7) only_last_hours_total or up',
  'only_first_hours - fill_right(7) only_last_hours_total or up',
  'only_first_hours * fill_left(2) fill_right(3) only_last_hours_total',
  'only_first_hours * fill_right(3) fill_left(2) only_last_hours_total',
  'flapping{ends="marker"} + ignoring(ends) fill(0) flapping{ends="silence"}',
  'flapping{ends="quick"} / on() fill(NaN) gappy{part="a"}',
  'flapping > fill(0) flapping offset 5m or up',
  'gappy == bool fill(0) gappy offset 1h',
  'up * on(job) group_left fill_right(0) request_limit',
  'request_limit / on(job) group_right fill_left(1) up',
  'up * on(job) group_left() fill(1) request_limit',
  'batch_progress * on(run) group_left fill(0) batch_progress offset 4m',
  'build_info + on(instance, version) fill(5) build_info offset 1h',
  'rate(pod_cpu_usage_seconds_total[5m]) + fill(0) rate(pod_cpu_usage_seconds_total[5m] offset 30m)',
  'sum by (job) (rate(http_requests_total{code="500"}[5m])) / fill(1) sum by (job) (up)',
  'rpc_duration_seconds + on(service) fill(0) flapping_histogram or up',
  'flapping_histogram + fill(0) flapping_histogram offset 10m or up',
  'pod_cpu_usage_seconds_total ^ fill_right(2) (pod_cpu_usage_seconds_total > 50)',
)

/** A sub-query drops names, and a filled side could have another one. */
const unnamedFills = bypassed('unnamed_range_selector', 'max_over_time((up > fill(0) up offset 5m)[10m:1m])')

const nativeMetrics = [
  'rpc_duration_seconds',
  'balance_distribution',
  'custom_bucket_seconds',
  'flapping_histogram',
]
const trims = eligible(
  ...each(nativeMetrics, '$ </ 0.1'),
  ...each(nativeMetrics, '$ >/ 0.1'),
  'rpc_duration_seconds </ 1 >/ 0.01',
  'rpc_duration_seconds </ +Inf',
  'rpc_duration_seconds >/ NaN',
  'balance_distribution >/ 0 </ 0.5',
  'rate(rpc_duration_seconds[5m]) >/ 0.05',
  'histogram_count(rpc_duration_seconds </ 1)',
  'histogram_avg(sum(rate(rpc_duration_seconds[5m])) >/ 0.01)',
  'histogram_quantile(0.9, rpc_duration_seconds </ 0.5)',
  'rpc_duration_seconds </ scalar(ramp_seconds % 7)',
  'float_and_histogram </ 0.5 or up',
  'up </ 1 or up',
  'rpc_duration_seconds </ on(service) group_left vector(1) or up',
  'custom_bucket_seconds >/ on() group_left vector(0.2) or up',
)

const quantiles = eligible(
  ...each(nativeMetrics, 'histogram_quantiles($, "q", 0.5, 0.9)'),
  'histogram_quantiles(rate(http_request_duration_seconds_bucket[5m]), "quantile", 0.5, 0.9, 0.99)',
  'histogram_quantiles(sum by (le) (rate(http_request_duration_seconds_bucket[5m])), "quantile", 0, 1)',
  'histogram_quantiles(sum(rate(rpc_duration_seconds[5m])), "service", 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)',
  'histogram_quantiles(rpc_duration_seconds, "q", 1.5, -0.5, NaN, 0.5)',
  'histogram_quantiles(rpc_duration_seconds, "q", scalar(ramp_seconds % 11) / 10, 0.25)',
  'histogram_quantiles(custom_bucket_seconds, "service", 0.5)',
  'histogram_quantiles(rpc_duration_seconds, "__name__", 0.5)',
  'histogram_quantiles(float_and_histogram, "q", 0.5) or up',
  'sum by (q) (histogram_quantiles(rpc_duration_seconds, "q", 0.5, 0.9))',
)

const overTime = [
  'first_over_time',
  'mad_over_time',
  'ts_of_first_over_time',
  'ts_of_last_over_time',
  'ts_of_max_over_time',
  'ts_of_min_over_time',
]
const functions = eligible(
  ...each(overTime, '$(temperature_celsius[5m])'),
  ...each(overTime, '$(queue_depth[90s])'),
  ...each(overTime, '$(special_values[2m])'),
  ...each(overTime, '$(queue_depth[10m:1m])'),
  ...each(
    ['first_over_time', 'ts_of_first_over_time', 'ts_of_last_over_time'],
    '$(rpc_duration_seconds[5m])',
  ),
  ...each(overTime, '$(float_and_histogram[3h]) or up'),
  'first_over_time(flapping[10m])',
  'first_over_time(flapping_histogram[15m])',
  'first_over_time(gappy[10m:1m] offset 5m)',
  'double_exponential_smoothing(memory_bytes[15m], 0.5, 0.1)',
  'double_exponential_smoothing(queue_depth[10m:30s], 0.3, 0.6)',
  'start_timestamp(up) or up',
  'limit_ratio(0.3, node_cpu_seconds_total)',
  'limit_ratio by (instance) (0.7, node_cpu_seconds_total)',
  'limit_ratio(1.5, up)',
)

/** Two series become one, each for its part of the time; the last of them has a float and a histogram at one instant. */
const relabelled = eligible(
  'label_replace(pod_cpu_usage_seconds_total{namespace="shop"}, "pod", "any", "namespace", "none")',
  'label_join(build_info, "version", "", "nosuchlabel")',
  'label_replace({__name__=~"only_.*_hours(_total)?"}, "__name__", "joined", "", "")',
  'rate(http_requests_total[5m]) * 0 + label_replace(http_requests_total, "method", "$1", "method", "(.*)")',
  'max by (version) (label_replace(build_info, "version", "$1", "version", "1[.](.*)"))',
  'label_replace(label_join({__name__=~"constant_one|custom_bucket_seconds"}, "service", ""), "__name__", "both", "", "")',
)

/** They warn over a range, but not over a single step. */
const sorted = eligible(
  'sort(up)',
  'sort_desc(rate(http_requests_total[5m]))',
  'sort_by_label(up, "instance")',
  '(sort_by_label_desc(up, "job", "instance"))',
)

const refused: Form[] = [
  ...bypassed(
    'unsafe_function',
    ...each(['rate', 'increase', 'delta', 'changes', 'resets'], '$(http_requests_total[5m] anchored)'),
    ...each(['rate', 'increase', 'delta'], '$(http_requests_total[5m] smoothed)'),
    'temperature_celsius smoothed',
    'sum(gappy smoothed)',
    'temperature_celsius smoothed offset 5m',
    'increase(gappy[5m] anchored offset 1h)',
    'up anchored',
    'info(up)',
    'info(memory_bytes, {__name__="build_info"})',
    'info(rate(node_network_receive_bytes_total[5m]), {__name__="build_info", version=~".+"})',
    'sum by (version) (info(memory_bytes{state="free"}, {__name__="build_info"}))',
  ),
  ...bypassed('sorting', 'sum(sort_by_label(up, "instance")) by (job)'),
  // Not in the grammar yet.
  ...bypassed('unparseable_query', 'vector(max_of(1, 2))', 'clamp_min(up, min_of(scalar(constant_one), 0))'),
]

const errors = failing(
  'rate(http_requests_total[5m - 10m])',
  'rate(http_requests_total[5m / 0])',
  'ramp_seconds offset (1 / 0)',
  'avg_over_time(up[5m] anchored)',
  'changes(up[5m] smoothed)',
  'up[5m:1m] smoothed',
  'up and fill(0) up',
  'up + fill(up) up',
  'up + fill(0) 1',
  'step(1)',
  'histogram_quantiles(rpc_duration_seconds, "q")',
  'histogram_quantiles(rpc_duration_seconds, "service", 0.5)',
  '{__name__=~"up|constant_one"} + on() fill(0) up',
)

export const newerForms: readonly Form[] = [
  ...durations,
  ...ofTheRange,
  ...sorted,
  ...words,
  ...fills,
  ...unnamedFills,
  ...trims,
  ...quantiles,
  ...functions,
  ...relabelled,
  ...refused,
  ...errors,
]
