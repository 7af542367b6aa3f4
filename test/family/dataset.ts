/** Nine minutes of samples that end a while ago: M3 takes nothing older than ten. */
import type { TimeSeries } from '../servers/remote-write.ts'

export interface Span {
  readonly from: number
  readonly to: number
}

export const spanBefore = (now: number): Span => {
  const to = Math.floor(now / 10_000) * 10_000 - 20_000
  return { from: to - 540_000, to }
}

const hosts = ['a', 'b', 'c'] as const

/** Labels that trip encoders, samples exactly at whole seconds and between them, series that come and go. */
export function seriesOver({ from, to }: Span): TimeSeries[] {
  const between = (start: number, end: number, everyMs: number, value: (i: number) => number) => {
    const samples = []
    for (let t = start, i = 0; t <= end; t += everyMs, i++) samples.push({ t, value: value(i) })
    return samples
  }
  const ofHost = (host: string, n: number): TimeSeries[] => [
    {
      labels: { __name__: 'steady', host, job: n === 0 ? 'web' : 'db' },
      samples: between(from, to, 5000, (i) => (i * 7 + n) % 97),
    },
    {
      labels: { __name__: 'shifted', host },
      samples: between(from + 123 * n, to, 3000, (i) => ((i * 3 + n) % 83) / 8),
    },
    {
      labels: { __name__: 'requests_total', host },
      samples: between(from, to, 5000, (i) => (i % 60) * 11 + n),
    },
    {
      labels: { __name__: 'fleeting', host },
      samples: between(from + (60 + 50 * n) * 1000, from + (200 + 70 * n) * 1000, 5000, (i) => 1000 + i),
    },
    ...['0.1', '1', '+Inf'].map((le, b) => ({
      labels: { __name__: 'latency_bucket', host, le },
      samples: between(from, to, 5000, (i) => i * (b + 1) + b * n),
    })),
  ]
  const odd = {
    labels: { __name__: 'odd', text: 'ü "\\" <&>', api: 'api-readonly' },
    samples: between(from, to, 5000, (i) => 10 ** ((i % 20) - 10)),
  }
  const prefix = {
    labels: { __name__: 'odd', text: 'x', api: 'api' },
    samples: between(from, to, 5000, (i) => i / 3),
  }
  return [...hosts.flatMap(ofHost), odd, prefix]
}

/** Queries that every server of the family answers, and whose values are local to their steps. */
export const eligibleForms: readonly string[] = [
  'steady',
  'shifted',
  'odd',
  'fleeting',
  'steady{host!="b"}',
  '{__name__=~"steady|odd"}',
  'sum by (job) (steady)',
  'avg(shifted)',
  'max without (host) (steady)',
  'count(fleeting)',
  'topk(2, shifted)',
  'quantile(0.3, shifted)',
  'count_values("v", steady > 90)',
  'rate(requests_total[1m])',
  'increase(requests_total[30s])',
  'irate(requests_total[20s])',
  'delta(shifted[40s])',
  'avg_over_time(shifted[20s])',
  'quantile_over_time(0.9, shifted[30s])',
  'max_over_time(steady[1m:7s])',
  'sum_over_time(rate(requests_total[20s])[1m:10s])',
  'steady offset 35s',
  'rate(requests_total[20s] offset 10s)',
  'histogram_quantile(0.9, sum by (le) (rate(latency_bucket[30s])))',
  'steady + on (host) shifted',
  'steady > 40 and on (host) shifted < 8',
  'fleeting or steady',
  'steady unless on (host) fleeting',
  'absent(fleeting{host="a"})',
  'absent_over_time(fleeting[10s])',
  'changes(steady[30s])',
  'predict_linear(requests_total[30s], 60)',
  'timestamp(shifted)',
  'time() - shifted',
  'vector(1)',
  'clamp_max(steady, 50) * 2',
  '-steady',
  'no_such_metric',
]
