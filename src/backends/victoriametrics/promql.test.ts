import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createExaminer } from './promql.ts'

const examine = createExaminer()

const local = [
  'x[5m]',
  'last_over_time(x[5m])',
  'sum by (job) (avg_over_time(x{a="b"}[1h]))',
  'max(max_over_time(x[1m])) - min(min_over_time(x[1m]))',
  'quantile_over_time(0.5, x[5m]) > bool -1.5',
  'quantile(0.9, last_over_time(x[5m]))',
  'clamp(last_over_time(x[5m]), -1, 1)',
  'predict_linear(x[1h], 3600)',
  '(x[5m] offset 1h) unless (y[5m])',
  'avg_over_time(sum(last_over_time(x[1m]))[10m:1m])',
  'last_over_time(x[5m] @ 1000)',
  'absent_over_time(x[5m])',
  'sum(absent_over_time(x[5m]) > 0)',
  'sum(-absent_over_time(x[5m]))',
  'quantile(0.5, absent_over_time(x[5m]))',
  'time() + vector(1)',
  'last_over_time(x[5m]) != -3',
  'last_over_time(x[5m]) ^ 2',
  'last_over_time(x[5m]) > last_over_time(y[5m])',
]
for (const text of local) {
  test(`local to its step: ${text}`, () => {
    const examined = examine(text)
    assert.ok(!('bypass' in examined), JSON.stringify(examined))
  })
}

const refused: Record<string, readonly string[]> = {
  depends_on_range: [
    'x',
    'sum(x)',
    'sum_over_time(x[5m]) / x',
    'abs(x)[5m:1m]',
    'last_over_time(x[5m]) or last_over_time(y[5m])',
    'last_over_time(x[5m]) * on (a) last_over_time(y[5m])',
    'last_over_time(x[5m]) * ignoring (a) group_left last_over_time(y[5m])',
    'clamp_max(last_over_time(x[5m]), last_over_time(y[5m]))',
    'clamp_max(1, last_over_time(y[5m]))',
    'round(last_over_time(x[5m]), 1 + last_over_time(y[5m]))',
    'quantile_over_time(last_over_time(y[5m]), x[5m])',
    'quantile(last_over_time(y[5m]), x[5m])',
    'last_over_time(x[5m] @ end())',
    'start()',
    'last_over_time(x[5m]) ^ last_over_time(y[5m])',
    '1 ^ last_over_time(x[5m])',
    'last_over_time(x[5m]) != last_over_time(y[5m])',
    'last_over_time(x[5m]) > bool last_over_time(y[5m])',
    'vector(3) != last_over_time(x[5m])',
    'sum(absent_over_time(x[5m]))',
    'count by (a) ((absent_over_time(x[5m] offset 1h)))',
    'sum(+(absent_over_time(x[5m])))',
    'sum(# a comment\nabsent_over_time(x[5m]))',
    'sum((# a comment\nabsent_over_time(x[5m])))',
  ],
  unsafe_function: [
    'rate(x[5m])',
    'increase(x[5m])',
    'irate(x[5m])',
    'delta(x[5m])',
    'idelta(x[5m])',
    'changes(x[5m])',
    'resets(x[5m])',
    'deriv(x[5m])',
    'timestamp(x[5m])',
    'scalar(last_over_time(x[5m]))',
    'sgn(last_over_time(x[5m]))',
    'histogram_quantile(0.9, sum by (le) (last_over_time(h_bucket[5m])))',
    'topk(2, last_over_time(x[5m]))',
    'bottomk(2, last_over_time(x[5m]))',
    'stddev(x[5m])',
    'stdvar by (a) (x[5m])',
    'count_values("v", last_over_time(x[5m]))',
    'label_replace(last_over_time(x[5m]), "a", "b", "c", "d")',
    'label_join(last_over_time(x[5m]), "a", ",", "b")',
    // The order of their series is not known.
    'last_over_time(x[5m]) + sum(x[5m])',
    'x[5m] unless (max(x[5m]))',
    '# a comment\nx[5m]',
  ],
  unnamed_range_selector: ['last_over_time({job="a"}[5m])', 'sum(last_over_time({__name__=~"a|b"}[5m]))'],
  unsafe_offset: ['last_over_time(x[5m] offset -1m)'],
  sorting: ['sort(last_over_time(x[5m]))'],
}
// Syntax that only MetricsQL has is no PromQL.
const metricsQl = [
  'range_avg(last_over_time(x[5m]))',
  'running_sum(last_over_time(x[5m]))',
  'topk_max(2, last_over_time(x[5m]))',
  'keep_last_value(last_over_time(x[5m]))',
  'interpolate(last_over_time(x[5m]))',
  'limit_offset(1, 1, last_over_time(x[5m]))',
  'rollup(x[5m])',
  'default_rollup(x[5m])',
  'last_over_time(x[5m]) default 0',
  'last_over_time(x[5m]) if last_over_time(y[5m])',
  'last_over_time(x[5i])',
  'last_over_time(x[5m]) keep_metric_names',
  'with (a = x) last_over_time(a[5m])',
  'last_over_time({a="b" or c="d"}[5m])',
  'LAST_OVER_TIME(x[5m])',
  'now()',
]
for (const [reason, texts] of Object.entries({ ...refused, unparseable_query: metricsQl })) {
  for (const text of texts) {
    test(`${reason}: ${text}`, () => {
      const examined = examine(text)
      assert.equal('bypass' in examined && examined.bypass, reason, JSON.stringify(examined))
    })
  }
}
