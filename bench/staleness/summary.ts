/** Runs that differ by their seed alone, as one row. */

import type { PolicySpec, StalenessCase, StalenessRun } from '../../test/rigs/staleness-case.ts'
import { freeStaleness, isMeasured, isTruthInside } from '../../test/rigs/staleness-report.ts'
import { ageGroups, byGroup } from '../../test/rigs/staleness-tally.ts'

export interface Row {
  readonly case: StalenessCase
  readonly policy: PolicySpec
  readonly seeds: number
  /** True staleness by group of age, the mean over seeds; undefined where nothing was shown. */
  readonly staleness: readonly (number | undefined)[]
  /** The highest group relative to the budget, without classes whose TTL the floor keeps too long. */
  readonly worstMean: number | undefined
  /** The same for the seed in which it is highest. */
  readonly worstSeed: number | undefined
  readonly queriesPerHour: number
  readonly bucketsPerHour: number
  /** By group, the mean over seeds; empty where nothing was measured. */
  readonly measured: readonly { readonly estimate: number; readonly low: number; readonly high: number }[]
  /** In how many groups of how many the interval covers the truth. */
  readonly covered: { readonly groups: number; readonly of: number }
}

export function policyLabel({ policy }: Pick<Row, 'policy'>): string {
  if (policy.kind === 'ladder') return 'ladder'
  return policy.kind === 'fixed' ? `fixed ${policy.ttlS} s` : `${policy.kind} ${100 * policy.budget} %`
}

export function rowsOf(runs: readonly StalenessRun[]): Row[] {
  const bySetting = Map.groupBy(runs, (run) => JSON.stringify({ ...run.case, seed: 0 }))
  return [...bySetting.values()].map(rowOf)
}

function rowOf(runs: readonly StalenessRun[]): Row {
  const first = runs[0]!.case
  const policy = first.policies[0]!
  const all = runs.map(({ cohorts }) => byGroup(cohorts[0]!.classes))
  const budget = 'budget' in policy ? policy.budget : undefined
  const free = budget === undefined ? [] : runs.map(({ cohorts }) => freeStaleness(cohorts[0]!, budget))
  const relative = (staleness: readonly (number | undefined)[]) =>
    budget && Math.max(...staleness.map((share) => (share ?? 0) / budget))
  const groups = runs.flatMap(({ measured }) => measured).filter(isMeasured)
  return {
    ...{ case: first, policy, seeds: runs.length, staleness: meanOfEach(all) },
    worstMean: relative(meanOfEach(free)),
    worstSeed: budget && Math.max(...free.map((staleness) => relative(staleness)!)),
    queriesPerHour: mean(runs.map((run) => run.queriesPerHour)),
    bucketsPerHour: mean(runs.map((run) => run.bucketsPerHour)),
    measured: runs[0]!.measured.map((_, i) => ({
      estimate: mean(runs.map(({ measured }) => measured[i]!.estimate)),
      low: mean(runs.map(({ measured }) => measured[i]!.low)),
      high: mean(runs.map(({ measured }) => measured[i]!.high)),
    })),
    covered: { groups: groups.filter(isTruthInside).length, of: groups.length },
  }
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

const meanOfEach = (lists: readonly (readonly (number | undefined)[])[]): (number | undefined)[] =>
  ageGroups.map((_, i) => {
    const values = lists.map((list) => list[i]).filter((value) => value !== undefined)
    return values.length === 0 ? undefined : mean(values)
  })
