/** Renders the metrics of backends with a staleness budget. */
import type { BackgroundCounts } from '../engine/learning/counts.ts'
import { type Bound, bounds, type GroupReport, type StalenessReport } from '../ttl/staleness-report.ts'
import { type Family, headOf, sample } from './exposition.ts'
import { ageGroups, probeKinds, probeResults } from './labels.ts'
import { stalenessMetrics as metrics } from './staleness-metrics.ts'

/** Of one backend. */
export interface LearnedFigures extends StalenessReport {
  readonly backend: string
  readonly refetched: { readonly same: number; readonly changed: number }
  readonly probes: BackgroundCounts
  readonly dropped: number
}

export function stalenessFamilies(all: readonly LearnedFigures[]): string {
  const each = (of: Family, lines: (one: LearnedFigures) => string): string =>
    headOf(of) + all.map(lines).join('')
  const byAge = (of: Family, value: (group: GroupReport) => number): string =>
    each(of, ({ backend, groups }) =>
      groups
        .map((group, i) => sample(of.name, ['backend', backend, 'age', ageGroups[i]!], value(group)))
        .join(''),
    )
  return (
    byAge(metrics.staleness, ({ estimate }) => estimate) +
    byAge(metrics.stalenessLow, ({ low }) => low) +
    byAge(metrics.stalenessHigh, ({ high }) => high) +
    byAge(metrics.stalenessSamples, ({ samples }) => samples) +
    byAge(metrics.stalenessError, ({ error }) => error) +
    each(metrics.stalenessBudget, ({ backend, budget }) =>
      sample(metrics.stalenessBudget.name, ['backend', backend], budget),
    ) +
    each(metrics.stalenessBound, boundLines) +
    byAge(metrics.learnedTtl, ({ ttlMs }) => ttlMs / 1000) +
    each(metrics.refetchedBuckets, refetchLines) +
    each(metrics.probes, probeLines) +
    each(metrics.learningDropped, ({ backend, dropped }) =>
      sample(metrics.learningDropped.name, ['backend', backend], dropped),
    )
  )
}

function boundLines({ backend, groups }: LearnedFigures): string {
  const { name } = metrics.stalenessBound
  const line = (group: number, by: Bound): string =>
    sample(
      name,
      ['backend', backend, 'age', ageGroups[group]!, 'by', by],
      Number(groups[group]!.boundBy.includes(by)),
    )
  return groups.map((_, i) => bounds.map((by) => line(i, by)).join('')).join('')
}

const refetchLines = ({ backend, refetched }: LearnedFigures): string =>
  (['same', 'changed'] as const)
    .map((result) =>
      sample(metrics.refetchedBuckets.name, ['backend', backend, 'result', result], refetched[result]),
    )
    .join('')

const probeLines = ({ backend, probes }: LearnedFigures): string =>
  probeKinds
    .flatMap((kind) =>
      probeResults.map((result) =>
        sample(
          metrics.probes.name,
          ['backend', backend, 'kind', kind, 'result', result],
          probes[kind][result],
        ),
      ),
    )
    .join('')
