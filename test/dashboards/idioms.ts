/**
 * The PromQL idioms of published dashboards with weights: kubernetes-mixin, node exporter, Prometheus' and Grafana's own
 * mixins and single applications. The texts are our own, with the variables of Grafana put in. A count of 16 284 expressions
 * of 605 dashboards gave the share of negative offsets and the shares that older versions cached; all other weights are
 * estimates that add up to these.
 */

export interface Idiom {
  /** The name in printed tables. */
  readonly name: string
  /** Of a hundred thousand expressions. */
  readonly weight: number
  readonly templates: readonly string[]
  /** Labels of the argument are not known: such label functions are cached from 3.9 on. */
  readonly anyLabels?: true
  /** Depends on the whole range, or on the order of series: never cached. */
  readonly neverCached?: true
}

export const idioms: readonly Idiom[] = [
  {
    name: 'rate over an interval',
    weight: 30_500,
    templates: [
      'sum(rate({M}{{S}}[{R}])) by ({L})',
      'sum by ({L}) (irate({M}{{S}}[{R}]))',
      'sum(increase({M}{{S}}[{I}]))',
      'sum(rate({M}{{S}}[{R}])) by ({L}) / sum(rate({N}{{S}}[{R}])) by ({L})',
      '1 - avg by ({L}) (rate({M}{{S},mode="idle"}[{R}]))',
      '100 * sum(rate({M}{{S},code=~"5.."}[{R}])) / sum(rate({M}{{S}}[{R}]))',
    ],
  },
  {
    name: 'gauges',
    weight: 29_100,
    templates: [
      '{M}{{S}}',
      'sum({M}{{S}}) by ({L})',
      'max by ({L}) ({M}{{S}})',
      '{M}{{S}} / {N}{{S}} * 100',
      'count({M}{{S}} == 1)',
      'sum({M}{{S}}) or vector(0)',
      'avg_over_time({M}{{S}}[{I}])',
      'clamp_min({M}{{S}} - {N}{{S}}, 0)',
      'time() - {M}{{S}}',
      'round(sum(max_over_time({M}{{S}}[{I}])), 0.01)',
      'scalar(sum({M}{{S}}))',
      'sum(changes({M}{{S}}[{R}]))',
    ],
  },
  {
    name: 'quantiles of histograms',
    weight: 12_000,
    templates: [
      'histogram_quantile(0.99, sum(rate({M}_bucket{{S}}[{R}])) by (le, {L}))',
      'histogram_quantile(0.5, sum by (le) (rate({M}_bucket{{S}}[{R}]))) * 1e3',
      'sum(rate({M}_sum{{S}}[{R}])) / sum(rate({M}_count{{S}}[{R}]))',
      'histogram_quantile(0.95, sum(rate({M}{{S}}[{R}])))',
    ],
  },
  {
    name: 'joins',
    weight: 14_000,
    templates: [
      'sum({M}{{S}} * on (namespace, pod) group_left (workload) {N}{{S}}) by (workload)',
      '{M}{{S}} * on ({L}) group_left () {N}{{S}}',
      '({M}{{S}} / ignoring (mode) group_left sum without (mode) ({M}{{S}})) * 100',
      '{M}{{S}} and on ({L}) {N}{{S}} > 0',
      '{M}{{S}} unless on ({L}) {N}{{S}}',
      'sum(rate({M}{{S}}[{R}])) or sum(rate({N}{{S}}[{R}]))',
      'count(count by ({L}) ({M}{{S}}))',
    ],
  },
  {
    name: 'top and bottom',
    weight: 4_500,
    templates: [
      'topk(10, sum by ({L}) (rate({M}{{S}}[{R}])))',
      'bottomk(5, {M}{{S}})',
      'topk by (job) (3, {M}{{S}})',
    ],
  },
  {
    name: 'absence',
    weight: 1_500,
    templates: [
      'absent({M}{{S}})',
      'absent(up{job="{J}"} == 1) or vector(0)',
      'absent_over_time({M}{{S}}[{R}])',
    ],
  },
  {
    name: 'counted values',
    weight: 800,
    templates: ['count_values("version", {M}{{S}})', 'count_values without (instance) ("value", {M}{{S}})'],
  },
  {
    name: 'comparison with an earlier time',
    weight: 1_500,
    templates: [
      'sum({M}{{S}} offset 1d)',
      'sum(rate({M}{{S}}[{R}])) - sum(rate({M}{{S}}[{R}] offset 1w))',
      'avg_over_time({M}{{S}}[1h] offset 7d)',
    ],
  },
  {
    name: 'an increase that is shown where it began',
    weight: 1_400,
    templates: [
      'sum(increase({M}{{S}}[{I}:] offset -{I}))',
      'increase({M}{{S}}[{I}:] offset -{I}) > 0',
      'sum by ({L}) (increase({M}{{S}}[{I}] offset -{I}))',
    ],
  },
  {
    name: 'subqueries',
    weight: 2_000,
    templates: [
      'max_over_time(rate({M}{{S}}[{R}])[1h:1m])',
      'avg_over_time((sum({M}{{S}}) / sum({N}{{S}}))[30m:])',
      'quantile_over_time(0.95, sum by ({L}) (rate({M}{{S}}[{R}]))[1h:5m])',
    ],
  },
  {
    name: 'sorted',
    weight: 200,
    templates: [
      'sort_desc(sum(rate({M}{{S}}[{R}])) by ({L}))',
      'sort_desc(topk(10, sum by ({L}) (irate({M}{{S}}[{R}]))))',
      'sort(sum({M}{{S}}) by ({L}) / sum({N}{{S}}) by ({L}))',
    ],
  },
  {
    name: 'labels rewritten after an aggregation',
    weight: 400,
    templates: [
      'label_replace(sum by (instance) ({M}{{S}}), "node", "$1", "instance", "(.*):.*")',
      'label_join(sum by (namespace, pod) (rate({M}{{S}}[{R}])), "name", "/", "namespace", "pod")',
      'label_replace(count({M}{{S}}), "state", "running", "", "")',
      'sum by (short) (label_replace(max by (version) ({M}{{S}}), "short", "$1", "version", "([0-9.]+).*"))',
    ],
  },
  {
    name: 'labels of any series rewritten',
    weight: 1_700,
    anyLabels: true,
    templates: [
      'sum by (workload) (label_replace({M}{{S}}, "workload", "$1", "owner_name", "(.*)-.*"))',
      'label_replace({M}{{S}}, "node", "$1", "instance", "(.*):.*") * on (node) group_left {N}{{S}}',
      'label_join({M}{{S}}, "target", "/", "job", "instance")',
    ],
  },
  {
    name: 'the range of the window',
    weight: 400,
    neverCached: true,
    templates: [
      '{M}{{S}} @ end()',
      'topk(5, sum by ({L}) (rate({M}{{S}}[{R}] @ end()))) or {M}{{S}}',
      'rate({__name__=~"{M}|{N}"}[{R}])',
      'sum(rate({{S}}[{R}]))',
    ],
  },
]
