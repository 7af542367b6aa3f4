/** The staleness that a budget limits: at the ages at which it can be kept. */
import { changeModels } from './change-models.ts'
import { isFloorBound } from './oracle-policy.ts'
import type { CohortRun, MeasuredGroup } from './staleness-case.ts'
import { termsOf } from './staleness-policies.ts'
import { byGroup, tallyAges } from './staleness-tally.ts'

/** The stale share of each group of ages, without the classes whose TTL the floor keeps too long: the oracle knows which. */
export function freeStaleness({ model, classes }: CohortRun, budget: number): (number | undefined)[] {
  const rules = { model: changeModels[model], terms: termsOf(budget), onEpochs: false }
  const isFree = tallyAges.map((from, i) => !isFloorBound(rules, from, tallyAges[i + 1] ?? 2 * from))
  return byGroup(classes, (i) => isFree[i]!)
}

/** Whether there is anything to compare. */
export const isMeasured = ({ samples, truth }: MeasuredGroup): boolean => samples > 0 && truth !== undefined

export const covers = ({ low, high, truth }: MeasuredGroup): boolean => low <= truth! && truth! <= high
