/** Renders the metrics of backends with a staleness budget. */
import type { BackgroundCounts } from '../engine/learning/counts.ts'
import { bounds, type GroupReport, type StalenessReport } from '../ttl/staleness-report.ts'
import { type Family, family, sample } from './exposition.ts'
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
  const each = (of: Family, lines: (one: LearnedFigures) => readonly string[]): string =>
    family(of, all.flatMap(lines))
  const byAge = (of: Family, value: (group: GroupReport) => number): string =>
    each(of, ({ backend, groups }) =>
      groups.map((group, i) => sample(of, [backend, ageGroups[i]!], value(group))),
    )
  return (
    byAge(metrics.staleness, ({ estimate }) => estimate) +
    byAge(metrics.stalenessLow, ({ low }) => low) +
    byAge(metrics.stalenessHigh, ({ high }) => high) +
    byAge(metrics.stalenessSamples, ({ samples }) => samples) +
    byAge(metrics.stalenessError, ({ error }) => error) +
    each(metrics.stalenessBudget, ({ backend, budget }) => [
      sample(metrics.stalenessBudget, [backend], budget),
    ]) +
    each(metrics.stalenessBound, boundLines) +
    byAge(metrics.learnedTtl, ({ ttlMs }) => ttlMs / 1000) +
    each(metrics.refetchedBuckets, refetchLines) +
    each(metrics.probes, probeLines) +
    each(metrics.learningDropped, ({ backend, dropped }) => [
      sample(metrics.learningDropped, [backend], dropped),
    ])
  )
}

const boundLines = ({ backend, groups }: LearnedFigures): string[] =>
  groups.flatMap(({ boundBy }, i) =>
    bounds.map((by) =>
      sample(metrics.stalenessBound, [backend, ageGroups[i]!, by], boundBy.includes(by) ? 1 : 0),
    ),
  )

const refetchLines = ({ backend, refetched }: LearnedFigures): string[] => [
  sample(metrics.refetchedBuckets, [backend, 'same'], refetched.same),
  sample(metrics.refetchedBuckets, [backend, 'changed'], refetched.changed),
]

const probeLines = ({ backend, probes }: LearnedFigures): string[] =>
  probeKinds.flatMap((kind) =>
    probeResults.map((result) => sample(metrics.probes, [backend, kind, result], probes[kind][result])),
  )
