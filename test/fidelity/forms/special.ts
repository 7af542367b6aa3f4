/** Queries that must be forwarded unchanged, queries that must fail, and queries where only the bytes are asserted. */
import {
  bypassed,
  eitherWay,
  eligible,
  eligibleSince,
  empty,
  type Form,
  failing,
  type Param,
  type Version,
} from '../form.ts'
import { atHour } from './instants.ts'

const bypasses: Form[] = [
  ...bypassed('sorting', 'sum(sort(up)) by (job)', 'sort(up) or sort_desc(queue_depth)'),
  ...bypassed(
    'depends_on_range',
    'ramp_seconds @ start()',
    'ramp_seconds @ end()',
    'ramp_seconds - ramp_seconds @ start()',
    'topk(2, avg_over_time(queue_depth[5m] @ end())) or queue_depth',
    'rate(http_requests_total{code="200"}[5m] @ end())',
    'max_over_time(queue_depth[10m:1m] @ end())',
    // Some versions take the first value of a computed parameter for the whole range.
    'topk(scalar(ramp_seconds / 60 % 5), http_requests_total) or up',
    'quantile(scalar(ramp_seconds / 60 % 10) / 10, http_requests_total)',
  ),
  ...bypassed(
    'unsafe_function',
    'limitk(3, http_requests_total)',
    'limitk by (job) (2, http_requests_total)',
    'limitk(1, rpc_duration_seconds)',
  ),
  ...bypassed('unsafe_offset', 'up offset -0x1f'),
  ...bypassed(
    'unnamed_range_selector',
    'rate({__name__=~"http_requests_total|node_cpu_seconds_total"}[5m])',
    'sum(rate({job="api",code="200"}[5m]))',
    'count_over_time({__name__!="x",job="node"}[1m])',
  ),
  ...bypassed(
    'unnamed_range_selector',
    'avg_over_time({__name__=~"only_first_hours|only_last_hours_total"}[5m])',
    'sum(rate({job="api"}[5m]))',
  ).map((form): Form => ({ ...form, error: true })),
  ...['up', 'http_requests_total', 'rate(http_requests_total[5m])', 'rpc_duration_seconds'].flatMap(
    (query): Form[] => [
      { query, eligible: false, bypass: 'limit', extra: [['limit', '2']] },
      { query, eligible: false, bypass: 'stats', extra: [['stats', 'all']] },
    ],
  ),
]

const without = (name: string) => (params: readonly Param[]) => params.filter((param) => param[0] !== name)
const setting =
  (name: string, value: string) =>
  (params: readonly Param[]): Param[] =>
    params.map((param) => (param[0] === name ? [name, value] : param))

/** The start goes along, so that every walk requests some hours before the given end. */
const settingRange = (end: string) => (params: readonly Param[]) =>
  setting('start', `${atHour(18)}.5`)(setting('end', end)(setting('step', '30')(params)))

const spoiled = (edit: NonNullable<Form['edit']>, query = 'up'): Form => ({
  query,
  eligible: false,
  error: true,
  edit,
})

const errors: Form[] = [
  ...failing(
    'up{',
    'sum(',
    'up up',
    'rate(up)',
    'rate(up[5m]',
    'nosuchfunction(up)',
    'up{job="a}',
    'up[5m]',
    '"just a string"',
    '',
    '# only a comment',
    'up @ now',
    'sum(up) by job',
    'up offset 5x',
    '{}',
    '{__name__=~".*"}',
    '1 + ',
    'up and 1',
    'up > bool',
    'clamp(up)',
    'up * on(job) request_limit',
    'up + on(job) up',
    'http_requests_total * on(job) up',
    'up * on(job) group_left http_requests_total',
    '-{__name__=~"ramp_seconds|constant_one"}',
    'abs({__name__=~"ramp_seconds|constant_one"})',
    'label_replace(up, "instance", "same", "instance", ".*")',
    'label_replace(up, "x", "$1", "job", "(")',
    'count_values("not\\xffutf8", up)',
    'up{job="<&>\u2028"} )',
  ),
  ...['query', 'start', 'end', 'step'].map((name) => spoiled(without(name))),
  spoiled(setting('step', '0')),
  spoiled(setting('step', '-15')),
  spoiled(setting('step', '1.5s')),
  spoiled(setting('step', 'often')),
  spoiled(setting('start', 'yesterday')),
  spoiled(setting('end', '1000')),
  spoiled(setting('start', '')),
  spoiled((params) => [...without('timeout')(params), ['timeout', 'soon']]),
  spoiled((params) => [...without('lookback_delta')(params), ['lookback_delta', 'far']]),
  { query: 'ramp_seconds', eligible: false, error: true, range: { stepMs: 1000, points: 11_002 } },
]

/** The most points that Prometheus answers. */
const largest: Form[] = [
  { query: 'ramp_seconds', eligible: true, range: { stepMs: 1000, points: 11_001 } },
  { query: 'queue_depth', eligible: true, range: { stepMs: 2500, points: 11_001 } },
]

/** From here on Prometheus looks for duplicate label sets step by step where labels are rewritten. */
const labelsCheckedPerStep: Version = [3, 9]

/**
 * Prometheus 3.5 looks for duplicate label sets in the whole matrix of these, not step by step: series that never
 * meet fail together in a wide range and succeed in a narrow one. Cutting such a range into buckets would turn an
 * error into an answer. How a proxy avoids that is its own affair, so only the bytes are compared.
 */
export const wholeRangeForms: readonly Form[] = [
  ...eitherWay(
    '-{__name__=~"only_first_hours|only_last_hours_total"}',
    '-(only_first_hours or only_last_hours_total)',
    'max_over_time((only_first_hours or only_last_hours_total)[10m:1m])',
    'max_over_time({__name__=~"only_first_hours|only_last_hours_total"}[10m:1m])',
  ),
  ...eligibleSince(
    labelsCheckedPerStep,
    ...eitherWay(
      'label_replace({__name__=~"only_first_hours|only_last_hours_total"}, "__name__", "", "", "")',
      'label_replace(build_info, "version", "any", "", "")',
      'label_join(build_info, "version", "-", "instance")',
      'sum(label_replace(build_info, "version", "any", "", ""))',
    ),
  ),
]

/** Outermost, sort functions have no effect over a range. */
export const sorted = [
  // Histograms have no order, and are left out.
  ...empty('sort(rpc_duration_seconds)'),
  ...eligible(
    'sort(up)',
    'sort_desc(queue_depth)',
    '(sort_desc(sum by (job, code) (rate(http_requests_total[5m]))))',
    'sort_desc(topk(3, http_requests_total))',
    'sort_by_label(up, "instance")',
    'sort_by_label_desc(http_requests_total, "code", "job")',
  ),
]

/** Values that are computed from data after their step. */
export const aheadOfTheirSteps = eligible(
  'ramp_seconds offset -5m',
  'rate(http_requests_total[5m] offset -1m)',
  'max_over_time(queue_depth[10m:1m] offset -10m)',
  'up and up offset -15s',
  'increase(http_requests_total[1m:15s] offset -1m)',
  'sum by (job) (increase(http_requests_total[5m:] offset -5m)) > 0',
  'max_over_time((queue_depth offset -20m)[10m:1m] offset 10m)',
  'queue_depth offset +5m - queue_depth offset - 5m',
)

/** Labels that no series of the argument can have: no two series can become equal. */
export const newlyLabelled = eligible(
  'label_replace(sum by (instance) (up), "short", "$1", "instance", "(.*):.*")',
  'label_replace(sum by (job) (rate(http_requests_total[5m])), "kind", "all", "", "")',
  'label_join(count by (job, instance) (up), "target", "/", "job", "instance")',
  'label_replace(label_replace(max by (version) (build_info), "a", "$1", "version", "(.).*"), "b", "$1", "a", "(.*)")',
  'label_replace(count(build_info), "version", "any", "", "")',
  'histogram_quantile(0.9, label_replace(sum by (le) (rate(http_request_duration_seconds_bucket[5m])), "job", "any", "", ""))',
)

/** A carriage return is white space. */
export const returns = eligible('up\r', 'sum by\r(job)\r\n(up) # a comment\r\n')

/** Where that never happens in this data, but the text alone does not show it. */
export const relabelled = eligibleSince(
  labelsCheckedPerStep,
  ...bypassed(
    'unsafe_function',
    'label_replace(up, "short", "$1", "instance", "(.*):.*")',
    'label_replace(up, "short", "no match", "instance", "x(.*)")',
    'label_replace(temperature_celsius, "copy.of.room", "room $1 <&> \\"$1\\"", "room", "(.+)")',
    'label_join(http_requests_total, "all", "/", "job", "method", "code")',
    'label_join(up, "target", "", "job", "instance")',
    'sum by (node) (label_replace(node_cpu_seconds_total, "node", "$1", "instance", "(node-.).*"))',
    'histogram_quantile(0.9, label_replace(up, "le", "odd", "", "")) or up',
  ),
)

/** A parameter that is not a literal, to some parsers. */
const signed = eitherWay('limit_ratio(-0.5, node_cpu_seconds_total)', 'quantile(-0.1, up)')

/** As floats these reach Prometheus as 8 199 999 999 ns and the like: it steps by one millisecond less. */
const treacherousSteps = ['8.2', '33.3', '1.001', '16.1', '1e1', '+15', '0x10', '15.0004'].flatMap((step) =>
  eitherWay('ramp_seconds', 'rate(http_requests_total[5m])').map(
    (form): Form => ({ ...form, edit: setting('step', step) }),
  ),
)

/** Spellings of the end that Go reads, some of them only just. */
const oddEnds = [
  `${atHour(20)}.0005`,
  `${atHour(20) / 1e9}e9`,
  new Date(atHour(20) * 1000).toISOString().replace('.000Z', '.000999999Z'),
  new Date(atHour(20) * 1000).toISOString().toLowerCase(),
].flatMap((end) => eitherWay('ramp_seconds').map((form): Form => ({ ...form, edit: settingRange(end) })))

export const specialForms: readonly Form[] = [
  ...bypasses,
  ...errors,
  ...largest,
  ...wholeRangeForms,
  ...sorted,
  ...aheadOfTheirSteps,
  ...newlyLabelled,
  ...returns,
  ...relabelled,
  ...signed,
  ...treacherousSteps,
  ...oddEnds,
]
