/** Whether the staleness budget of a backend is kept, by age group: the measured staleness, beside the limits of TTLs. */

import type { Learner } from './learned/learner.ts'
import type { LearnedTerms } from './learned/learning.ts'
import type { GroupStaleness } from './learned/staleness-meter.ts'
import type { TtlPolicy } from './policy.ts'

export interface StalenessReport {
  readonly budget: number
  /** Undefined where the samples are inconclusive. Groups that the floor binds do not count. */
  readonly isKept: boolean | undefined
  readonly groups: readonly GroupReport[]
}

export interface GroupReport extends GroupStaleness {
  /** The shortest at these ages; of buckets that are over. */
  readonly ttlMs: number
  /** The limits that keep TTLs, somewhere in this group, from the values that the budget allows. */
  readonly boundBy: readonly Bound[]
}

export const bounds = ['floor', 'cap'] as const
export type Bound = (typeof bounds)[number]

/**
 * Of the policies of a backend, its own first, then those of its rules; undefined where none learns. Samples do not
 * record which rule applied. So the largest budget is the one to compare with, and the floor binds where it does under
 * any of the policies.
 */
export function stalenessReport(
  policies: readonly TtlPolicy[],
  learner: Pick<Learner, 'report' | 'staleness'>,
): StalenessReport | undefined {
  const terms = policies.flatMap(({ learns }) => learns ?? [])
  if (terms.length === 0) return undefined
  const budget = Math.max(...terms.map((each) => each.budget))
  const groups = groupsOf(terms, learner)
  return { budget, isKept: isKept(groups, budget), groups }
}

function groupsOf(
  terms: readonly LearnedTerms[],
  learner: Pick<Learner, 'report' | 'staleness'>,
): GroupReport[] {
  const curves = terms.map((each) => learner.report(each))
  return learner.staleness().map((group) => {
    const within = curves.map((curve) =>
      curve.filter(({ fromMs, toMs }) => fromMs < group.toMs && toMs > group.fromMs),
    )
    const ttls = within[0]!.filter(({ fromMs }) => fromMs >= 0).map(({ ttlMs }) => ttlMs)
    const isBinding = (bound: Bound) => within.flat().some(({ boundBy }) => boundBy === bound)
    return { ...group, ttlMs: Math.min(...ttls), boundBy: bounds.filter(isBinding) }
  })
}

function isKept(groups: readonly GroupReport[], budget: number): boolean | undefined {
  const judged = groups.filter(({ samples, boundBy }) => samples > 0 && !boundBy.includes('floor'))
  if (judged.some(({ low }) => low > budget)) return false
  return judged.length > 0 && judged.every(({ high }) => high <= budget) ? true : undefined
}
