/** Turns the counts of a staleness simulation into figures. */

import type { GroupStaleness } from '../../src/ttl/learned/staleness-meter.ts'
import { type ChangeModelName, changeModels } from './change-models.ts'
import type {
  CohortRun,
  HourlyCost,
  MeasuredGroup,
  PolicySpec,
  StalenessCase,
  StalenessRun,
} from './staleness-case.ts'
import { floorBounds } from './staleness-policies.ts'
import { ageGroups, byGroup, type Shown, type StalenessTally, tallyAges } from './staleness-tally.ts'

/** How fast the learner forgets samples. */
const halfLifeHours = 24

/** Panels with the same model, policy and first hour. */
export interface CountedCohort {
  readonly model: ChangeModelName
  readonly spec: PolicySpec
  readonly fromHour: number
  readonly tally: StalenessTally
}

export interface CountedRun {
  readonly case: StalenessCase
  readonly requests: number
  readonly costs: readonly HourlyCost[]
  readonly cohorts: readonly CountedCohort[]
  /** As the learner measured it. */
  readonly staleness: readonly GroupStaleness[]
}

export function figuresOf(counted: CountedRun): Omit<StalenessRun, 'curve'> {
  const { case: options, requests, costs, cohorts, staleness } = counted
  const { warmUpHours } = options
  const measuredCosts = costs.slice(warmUpHours)
  const perHour = (name: keyof HourlyCost) =>
    measuredCosts.reduce((sum, cost) => sum + cost[name], 0) / measuredCosts.length
  const learning = cohorts.filter(({ spec }) => spec.kind === 'learned').map(({ tally }) => tally)
  return {
    ...{ case: options, requests, costs },
    queriesPerHour: perHour('queries'),
    bucketsPerHour: perHour('buckets'),
    cohorts: cohorts.map(({ model, spec, fromHour, tally }) => ({
      ...{ model, policy: spec, isLate: fromHour > 0 },
      classes: tally.classes(warmUpHours, costs.length),
      hours: costs.map((_, hour) => byGroup(tally.classes(hour, hour + 1))),
    })),
    measured: learning.length === 0 ? [] : measuredGroups(staleness, decayed(learning, costs.length)),
  }
}

function measuredGroups(groups: readonly GroupStaleness[], classes: readonly Shown[]): MeasuredGroup[] {
  const truths = byGroup(classes)
  return ageGroups.map(({ fromMs }, i) => {
    const { estimate, low, high, samples, error } = groups.find((group) => group.fromMs === fromMs)!
    return { estimate, low, high, samples, error, truth: truths[i] }
  })
}

/** Per class, with the weight that samples of that hour have at the end. */
function decayed(tallies: readonly StalenessTally[], hours: number): Shown[] {
  const weightOf = (hour: number) => 0.5 ** ((hours - hour - 0.5) / halfLifeHours)
  const all = tallies.map((tally) => tally.classes(0, hours, weightOf))
  return all[0]!.map((_, i) => ({
    shown: all.reduce((sum, classes) => sum + classes[i]!.shown, 0),
    stale: all.reduce((sum, classes) => sum + classes[i]!.stale, 0),
  }))
}

/**
 * The staleness that a budget limits: the stale share of each group of ages, without the classes whose TTL the floor
 * keeps too long. The oracle knows which.
 */
export function freeStaleness({ model, classes }: CohortRun, budget: number): (number | undefined)[] {
  const isFloorBound = floorBounds(changeModels[model], budget)
  const isFree = tallyAges.map((from, i) => !isFloorBound(from, tallyAges[i + 1] ?? 2 * from))
  return byGroup(classes, (i) => isFree[i]!)
}

/** Whether there is anything to compare. */
export const isMeasured = ({ samples, truth }: MeasuredGroup): boolean => samples > 0 && truth !== undefined

export const isTruthInside = ({ low, high, truth }: MeasuredGroup): boolean => low <= truth! && truth! <= high
