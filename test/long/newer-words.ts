/** Durations that are calculated, functions of the range, and the words of the newer syntax as plain names. */
import { bypassed, each, eligible, empty, type Form } from '../fidelity/form.ts'

export const durations: readonly Form[] = [
  ...bypassed(
    'depends_on_range',
    'rate(http_requests_total[5m + 1m])',
    'rate(http_requests_total[2 * 5m])',
    'rate(http_requests_total[(5m)])',
    'rate(http_requests_total[-(-5m)])',
    'count_over_time(ramp_seconds[step()]) or up',
    'count_over_time(ramp_seconds[step() + 1m])',
    'increase(http_requests_total[max_of(step(), 5m)])',
    'avg_over_time(queue_depth[min_of(step() * 2, 10m)]) or up',
    'avg_over_time(temperature_celsius[range() + 5m])',
    'max_over_time(queue_depth[10m:step()])',
    'max_over_time(queue_depth[(10m):1m])',
    'max_over_time(queue_depth[max_of(range(), 1h):5m])',
    'rate(http_requests_total[5m ^ 1])',
  ),
  ...bypassed(
    'unsafe_offset',
    'ramp_seconds offset (5m - 10m)',
    'ramp_seconds offset (5m)',
    'ramp_seconds offset (10m - 5m)',
    'ramp_seconds offset -(5m)',
    'ramp_seconds offset step()',
    'ramp_seconds offset -step()',
    'ramp_seconds offset max_of(step(), 1m)',
    'ramp_seconds offset -min_of(range(), 5m)',
    'rate(http_requests_total[5m] offset (1h / 2))',
    'max_over_time(queue_depth[10m:1m] offset (step() + 1m))',
    'ramp_seconds offset (5m) - 10m',
  ),
  // The range is nothing where start and end are equal, and then an error of its own.
  ...bypassed('depends_on_range', 'count_over_time(ramp_seconds[range()])'),
  ...eligible(
    'ramp_seconds offset 5m - 10m',
    'ramp_seconds offset 5m * 2',
    'ramp_seconds offset 5m ^ 2',
    'ramp_seconds offset 300',
    'ramp_seconds offset 1e2',
    'ramp_seconds offset 0x3c',
    'rate(http_requests_total[300])',
    'rate(http_requests_total[0x12c] offset 60)',
    'max_over_time(queue_depth[600:60])',
    'max_over_time(queue_depth[1e3:1m])',
    'ramp_seconds % 5m',
    'temperature_celsius > 1ms',
  ),
]

export const ofTheRange: readonly Form[] = bypassed(
  'depends_on_range',
  'start()',
  'end()',
  'step()',
  'range()',
  'end() - start()',
  'ramp_seconds * step()',
  'time() - start()',
  'vector(range())',
  'up * scalar(vector(step()))',
  'clamp_max(ramp_seconds, range())',
  'topk(step(), up) or up',
  'max_over_time((queue_depth * step())[10m:1m])',
  'sum by (job) (up + end())',
  'up offset 5m + start()',
  'ramp_seconds @ start()',
  'rate(http_requests_total[step() + 5m] @ end())',
)

/** Words of the newer syntax as names: of metrics, labels and matchers. */
export const words: readonly Form[] = [
  ...eligible(
    ...each(['start', 'end', 'range', 'step', 'fill', 'smoothed', 'anchored', 'max_of'], '$ or up'),
    ...each(['start', 'step', 'fill', 'fill_left', 'smoothed', 'anchored', 'min_of'], 'sum by ($, job) (up)'),
    ...each(['range', 'fill', 'smoothed', 'min_of'], 'up{$=""}'),
    'up{job!="offset (5m - 10m)"} # @ start()',
  ),
  ...empty('step', 'sum(smoothed)'),
]
