/** Query forms over test/victoriametrics/dataset.ts. */
import { bypassed, each, eligible, empty, type Form, type Param } from '../fidelity/form.ts'

const metrics = ['steady', 'gappy', 'flappy', 'slow', 'requests_total', 'fleeting'] as const
const overTime = words(`avg count first last max min present stddev stdvar sum mad`)

const plainFunctions =
  'abs ceil floor round sqrt exp ln log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh deg rad hour minute month year day_of_month day_of_week day_of_year days_in_month vector'

const cached: readonly Form[] = [
  ...eligible(
    ...metrics.map((name) => `last_over_time(${name}[5m])`),
    ...each(overTime, '$_over_time(flappy[90s])'),
    ...each(overTime, '$_over_time(gappy{host!="b"}[10m])'),
    ...each(words('sum avg min max count group quantile'), '$ by (job) (last_over_time(gappy[1m]))').map(
      (text) => text.replace('quantile by (job) (', 'quantile by (job) (0.3, '),
    ),
    ...each(
      words('+ - * / % > < >= <= == and unless'),
      'last_over_time(gappy[16s]) $ last_over_time(flappy[16s])',
    ),
    ...each(words('+ - * / % ^ > < >= <= == !='), 'sum_over_time(flappy[20s]) $ -1.5'),
    ...each(words('+ - * / % > < >= <= =='), '0 $ last_over_time(flappy[20s])'),
    ...each(words('+ - * / % > < >= <= =='), 'time() $ last_over_time(flappy[20s])'),
    ...each(words('> < >= <= == !='), 'last_over_time(flappy[20s]) $ bool 3'),
    ...each(words(plainFunctions), '$(last_over_time(flappy[20s]))'),
    ...each(words(plainFunctions), '$(steady[16s])'),
    'steady[20s]',
    'sum(flappy[20s])',
    'odd[1m]',
    'last_over_time(odd[1m])',
    'absent_over_time(flappy{host="a"}[20s])',
    'absent(last_over_time(flappy{host="a"}[16s]))',
    'quantile_over_time(0.9, flappy[5m])',
    'predict_linear(fleeting[5m], 600)',
    'avg_over_time(last_over_time(flappy[1m])[5m:1m])',
    'max_over_time(sum(last_over_time(flappy[1m]))[5m:])',
    'last_over_time(fleeting[1m] offset 7m)',
    'max_over_time(fleeting[10m] @ 1768471200)',
    'last_over_time(flappy[1m]) and last_over_time(gappy[15s]) > 40',
    'last_over_time(flappy[1m]) unless last_over_time(gappy[15s]) > 40',
    'clamp(last_over_time(flappy[1m]), -1, 5.5)',
    'round(last_over_time(flappy[1m]), 0.5)',
    '-last_over_time(flappy[1m])',
    '1 - last_over_time(flappy[1m])',
    '3 < last_over_time(flappy[1m])',
    'time() - last_over_time(fleeting[1m])',
    'vector(7)',
    'sum by (instance, job, zone) (steady[1m]) / count by (instance, job, zone) (gappy[5m])',
    'max_over_time(sum by (job, zone) (last_over_time(flappy[1m]))[5m:1m]) > 5',
  ),
  ...empty('last_over_time(absent_metric[5m])', 'last_over_time(flappy[1m]) > 1000'),
]

/** By default it answers a window of 50 points on its own grid; forwarded requests are forwarded unchanged. */
const nocache: readonly Param[] = [['nocache', '1']]

const passedOn: readonly Form[] = [
  ...bypassed(
    'depends_on_range',
    'steady',
    'sum by (job) (flappy)',
    'slow offset 5m',
    'last_over_time(gappy[1m]) or slow[1m]',
    'sum(absent_over_time(fleeting[16s]))',
  ),
  ...bypassed(
    'unsafe_function',
    'rate(requests_total[5m])',
    'increase(requests_total[1m])',
    'topk(1, steady[1m])',
    'stddev(steady[1m])',
    'histogram_quantile(0.9, latency_bucket[1m])',
  ),
  ...bypassed('unparseable_query', 'range_avg(steady[1m])', 'steady[1m] default 0'),
  ...bypassed('unnamed_range_selector', 'last_over_time({host="a"}[1m])'),
  ...bypassed('sorting', 'sort(steady[1m])'),
].map((form) => ({ ...form, extra: nocache }))

export const forms: readonly Form[] = [...cached, ...passedOn]

function words(text: string): string[] {
  return text.split(' ')
}
