/** Turns the counts of a staleness simulation into figures. */

import type { GroupStaleness } from '../ttl/learned/staleness-meter.ts'
import type { ChangeModelName } from './change-models.ts'
import type {
  CohortRun,
  HourlyCost,
  MeasuredGroup,
  PolicySpec,
  StalenessCase,
  StalenessRun,
} from './staleness-case.ts'
import { ageGroups, byGroup, type Shown, type StalenessTally } from './staleness-tally.ts'

/** How fast the learner forgets samples. */
const halfLifeHours = 24

interface CountedCohort {
  readonly model: ChangeModelName
  readonly spec: PolicySpec
  readonly fromHour: number
  readonly tally: StalenessTally
}

export class StalenessReport {
  readonly #case: StalenessCase
  readonly #costs: readonly HourlyCost[]

  constructor(options: StalenessCase, costs: readonly HourlyCost[]) {
    this.#case = options
    this.#costs = costs
  }

  costs(requests: number): Omit<StalenessRun, 'cohorts' | 'measured' | 'curve'> {
    const measured = this.#costs.slice(this.#case.warmUpHours)
    const perHour = (of: (cost: HourlyCost) => number) =>
      measured.reduce((sum, cost) => sum + of(cost), 0) / measured.length
    return {
      ...{ case: this.#case, requests, costs: this.#costs },
      queriesPerHour: perHour(({ queries }) => queries),
      bucketsPerHour: perHour(({ buckets }) => buckets),
    }
  }

  cohort({ model, spec, fromHour, tally }: CountedCohort): CohortRun {
    return {
      ...{ model, policy: spec, isLate: fromHour > 0 },
      classes: tally.classes(this.#case.warmUpHours, this.#hours),
      hours: this.#costs.map((_, hour) => byGroup(tally.classes(hour, hour + 1))),
    }
  }

  measured(groups: readonly GroupStaleness[], tallies: readonly StalenessTally[]): MeasuredGroup[] {
    if (tallies.length === 0) return []
    const truths = byGroup(this.#decayed(tallies))
    return ageGroups.map(({ fromMs }, i) => {
      const { estimate, low, high, samples, error } = groups.find((group) => group.fromMs === fromMs)!
      return { estimate, low, high, samples, error, truth: truths[i] }
    })
  }

  /** Per class, with the weight that samples of that hour have at the end. */
  #decayed(tallies: readonly StalenessTally[]): Shown[] {
    const weightOf = (hour: number) => 0.5 ** ((this.#hours - hour - 0.5) / halfLifeHours)
    const all = tallies.map((tally) => tally.classes(0, this.#hours, weightOf))
    return all[0]!.map((_, i) => ({
      shown: all.reduce((sum, classes) => sum + classes[i]!.shown, 0),
      stale: all.reduce((sum, classes) => sum + classes[i]!.stale, 0),
    }))
  }

  get #hours(): number {
    return this.#costs.length
  }
}
