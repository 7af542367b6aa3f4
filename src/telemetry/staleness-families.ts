/** The metrics of backends with a staleness budget. */
import type { BackgroundCounts } from '../engine/learning/counts.ts'
import { bounds, type GroupReport, type StalenessReport } from '../ttl/staleness-report.ts'
import { counter, type Family, family, gauge, type Sample } from './exposition.ts'
import { ageGroups, probeKinds, probeResults } from './labels.ts'

const backend = { backend: 'name of the backend' }
const group = { ...backend, age: ageGroups }

export const stalenessMetrics = {
  staleness: gauge(
    'windowpane_staleness_ratio',
    'Share of the served buckets that were out of date, measured by samples, per age group (labelled by its lower bound). Over all nodes that share a store.',
    { labels: group, example: 'max by (backend, age) (windowpane_staleness_ratio)' },
  ),
  stalenessLow: gauge(
    'windowpane_staleness_low_ratio',
    'Low end of the 95 % confidence interval of that share; 0 without a sample.',
    { labels: group },
  ),
  stalenessHigh: gauge('windowpane_staleness_high_ratio', 'High end of it; 1 without a sample.', {
    labels: group,
  }),
  stalenessSamples: gauge(
    'windowpane_staleness_samples',
    'Samples that the share is measured by, halved every 24 hours.',
    { labels: group },
  ),
  stalenessError: gauge(
    'windowpane_staleness_error_ratio',
    'Mean relative error of out-of-date buckets, as a share of the true value.',
    { labels: group },
  ),
  stalenessBudget: gauge(
    'windowpane_staleness_budget_ratio',
    'The share that may be out of date; where rules have other budgets, the largest.',
    {
      labels: backend,
      example:
        'windowpane_staleness_ratio / on (job, instance, backend) group_left () windowpane_staleness_budget_ratio',
    },
  ),
  stalenessBound: gauge(
    'windowpane_staleness_bound',
    '1 where the floor or the cap of the policy binds the TTLs of this age: they are not the ones that the budget allows. Where the floor binds, the budget is not guaranteed.',
    { labels: { ...group, by: bounds } },
  ),
  learnedTtl: gauge(
    'windowpane_learned_ttl_seconds',
    'Shortest TTL that is learned for buckets of this age, over all shapes of a backend.',
    { labels: group },
  ),
  refetchedBuckets: counter(
    'windowpane_refetched_buckets_total',
    'Stored buckets that were fetched again and compared: TTLs are learned from them.',
    {
      labels: { ...backend, result: ['same', 'changed'] },
      example: 'sum by (backend, result) (rate(windowpane_refetched_buckets_total[5m]))',
    },
  ),
  probes: counter(
    'windowpane_probes_total',
    'Background queries, by how their answer compared with the stored one: `sample` measures staleness, `sentinel` looks for corrections of many buckets, `refresh` fetches settled buckets before they expire.',
    {
      labels: { ...backend, kind: probeKinds, result: probeResults },
      example: 'sum by (backend, kind) (rate(windowpane_probes_total[5m]))',
    },
  ),
  learningDropped: counter(
    'windowpane_learning_events_dropped_total',
    'Observations of one thread that were not sent to the others, because the main thread was behind.',
    { labels: backend },
  ),
} as const

export interface LearnedFigures extends StalenessReport {
  readonly backend: string
  readonly refetched: { readonly same: number; readonly changed: number }
  readonly probes: BackgroundCounts
  readonly dropped: number
}

export function stalenessFamilies(all: readonly LearnedFigures[]): string {
  const each = (of: Family, samplesOf: (one: LearnedFigures) => readonly Sample[]): string =>
    family(of, all.flatMap(samplesOf))
  const byAge = (of: Family, value: (group: GroupReport) => number): string =>
    each(of, ({ backend: name, groups }) => groups.map((one, i) => [[name, ageGroups[i]!], value(one)]))
  const metrics = stalenessMetrics
  return (
    byAge(metrics.staleness, ({ estimate }) => estimate) +
    byAge(metrics.stalenessLow, ({ low }) => low) +
    byAge(metrics.stalenessHigh, ({ high }) => high) +
    byAge(metrics.stalenessSamples, ({ samples }) => samples) +
    byAge(metrics.stalenessError, ({ error }) => error) +
    each(metrics.stalenessBudget, ({ backend: name, budget }) => [[[name], budget]]) +
    each(metrics.stalenessBound, boundSamples) +
    byAge(metrics.learnedTtl, ({ ttlMs }) => ttlMs / 1000) +
    each(metrics.refetchedBuckets, refetchSamples) +
    each(metrics.probes, probeSamples) +
    each(metrics.learningDropped, ({ backend: name, dropped }) => [[[name], dropped]])
  )
}

const boundSamples = ({ backend: name, groups }: LearnedFigures): Sample[] =>
  groups.flatMap(({ boundBy }, i) =>
    bounds.map((by): Sample => [[name, ageGroups[i]!, by], boundBy.includes(by) ? 1 : 0]),
  )

const refetchSamples = ({ backend: name, refetched }: LearnedFigures): Sample[] => [
  [[name, 'same'], refetched.same],
  [[name, 'changed'], refetched.changed],
]

const probeSamples = ({ backend: name, probes }: LearnedFigures): Sample[] =>
  probeKinds.flatMap((kind) =>
    probeResults.map((result): Sample => [[name, kind, result], probes[kind][result]]),
  )
