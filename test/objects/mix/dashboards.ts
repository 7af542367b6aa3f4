/**
 * Dashboards in the proportions of published ones: of the calls of a first load 75 % are range queries, 7 % instant, 8 % exemplars and
 * 10 % variables; of those of a refresh 17 to 23 % are not range queries, and 60 % on every tenth dashboard, which is made of tables.
 */
import { pick, seededRandom } from '../../../src/testing/random.ts'
import { HOUR } from '../../data/dataset.ts'

export interface Variable {
  readonly of: 'label-values' | 'series' | 'labels' | 'metadata'
  readonly metric: string
  readonly label: string
  /** "On time range change": also requested on every refresh. Otherwise only on load. */
  readonly refreshes: boolean
}

export interface Dashboard {
  readonly name: string
  readonly method: 'GET' | 'POST'
  readonly windowMs: number
  /** Time series panels: their queries and widths. */
  readonly ranges: readonly { readonly query: string; readonly pixels: number }[]
  /** Stat and table panels. */
  readonly instants: readonly string[]
  readonly exemplars: readonly string[]
  readonly variables: readonly Variable[]
}

interface Proportions {
  readonly kind: 'ordinary' | 'tables'
  readonly ranges: number
  readonly instants: number
  readonly exemplars: number
}

const proportions: readonly Proportions[] = [
  { kind: 'ordinary', ranges: 32, instants: 2, exemplars: 3 },
  { kind: 'tables', ranges: 8, instants: 9, exemplars: 1 },
  { kind: 'ordinary', ranges: 36, instants: 2, exemplars: 4 },
  ...Array.from({ length: 7 }, (_, i): Proportions => {
    const [ranges, exemplars] = i % 3 === 0 ? [36, 4] : i % 3 === 1 ? [30, 3] : [32, 3]
    return { kind: 'ordinary', ranges: ranges!, instants: 2, exemplars: exemplars! }
  }),
]

/** At most ten, all different. The second is made of tables. */
export const dashboards = (count: number): Dashboard[] => proportions.slice(0, count).map(dashboard)

const windows = [1 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR]
const widths = [460, 700, 950, 1850]

function dashboard({ kind, ranges, instants, exemplars }: Proportions, index: number): Dashboard {
  const random = seededRandom(index)
  // No two dashboards share a panel: the worst case for a cache.
  const questions = queries.filter((_, i) => i % proportions.length === index)
  const panel = questions.values()
  const take = (count: number): string[] => Array.from({ length: count }, () => panel.next().value!)
  return {
    name: `${kind} ${index + 1}`,
    method: index % 3 === 2 ? 'GET' : 'POST',
    windowMs: windows[index % windows.length]!,
    ranges: take(ranges).map((query) => ({ query, pixels: pick(random, widths) })),
    instants: take(instants),
    exemplars: take(exemplars),
    variables: variablesOf(kind, index),
  }
}

function variablesOf(kind: Proportions['kind'], index: number): Variable[] {
  const metric = metrics[index % metrics.length]!.name
  const variable = (of: Variable['of'], label: string, refreshes: boolean): Variable => ({
    ...{ of, metric, label, refreshes },
  })
  return [
    variable('label-values', 'job', true),
    variable(index % 2 === 0 ? 'label-values' : 'series', 'instance', true),
    ...(kind === 'tables' ? [] : [variable('labels', '', false)]),
    variable('metadata', '', false),
  ]
}

const metrics = [
  { name: 'http_requests_total', labels: ['job', 'instance', 'method', 'code'], isCounter: true },
  { name: 'node_cpu_seconds_total', labels: ['instance', 'cpu', 'mode'], isCounter: true },
  { name: 'temperature_celsius', labels: ['job', 'instance'], isCounter: false },
  { name: 'memory_bytes', labels: ['job', 'instance'], isCounter: false },
  { name: 'queue_depth', labels: ['job', 'instance'], isCounter: false },
  { name: 'up', labels: ['job', 'instance'], isCounter: false },
] as const

const aggregations = ['sum', 'avg', 'max', 'min', 'count', 'stddev', 'group']

const queries: readonly string[] = metrics.flatMap(({ name, labels, isCounter }) => {
  const values = isCounter
    ? [`rate(${name}[1m])`, `rate(${name}[5m])`, `increase(${name}[5m])`, `irate(${name}[2m])`]
    : [name, `avg_over_time(${name}[5m])`, `max_over_time(${name}[2m])`, `deriv(${name}[5m])`]
  return values.flatMap((value) => [
    value,
    ...aggregations.map((aggregation) => `${aggregation}(${value})`),
    ...aggregations.flatMap((aggregation) =>
      labels.map((label) => `${aggregation} by (${label}) (${value})`),
    ),
  ])
})
