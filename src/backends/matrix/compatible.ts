/**
 * Planning for databases that keep Prometheus' samples in a storage of their own and compute with its query engine, or
 * with one that follows it. Accepts only rules that hold for every version: by default no negative offsets, no sorting,
 * no label functions.
 */
import type { Flavour } from '../backend.ts'
import { promqlDialect } from './dialect.ts'
import { firstValue, type Pairs } from './form.ts'
import { createPlanner, type Planner, type RangeQuery, type Rules } from './plan.ts'
import { createExaminer } from './promql.ts'
import type { PromqlBypass } from './reasons.ts'
import { type LateOptions, usualMs } from './settled-age.ts'

export interface CompatibleRules
  extends Required<Pick<Rules, 'isQuestionHeader'>>,
    Pick<Rules, 'exceptionsFor' | 'split'> {
  /** Parameters that are never part of the question, besides those of Prometheus. */
  readonly otherTerms?: readonly string[]
  /** Whether series that a label function makes equal are checked at each step alone; by default they are not. */
  isCheckedPerStep?(query: RangeQuery, flavour: Flavour | undefined): boolean
}

export function createCompatiblePlanner(options: LateOptions, rules: CompatibleRules): Planner {
  return createPlanner(options, {
    ...rules,
    ...execution,
    settledAgeMs: options.settlesAfterMs ?? usualMs,
    otherTerms: [...execution.otherTerms, ...(rules.otherTerms ?? [])],
    examine: createExaminer(promqlDialect),
    exceptionsFor(query, examined, flavour) {
      if (examined.mayMergeSeries && rules.isCheckedPerStep?.(query, flavour) !== true)
        return { bypass: 'unsafe_function', detail: 'label functions' }
      return rules.exceptionsFor?.(query, examined, flavour)
    },
  })
}

/** Parameters that truncate an answer as a whole, or add execution data to it. */
export const execution = { otherTerms: ['limit', 'stats'], refuse } as const

function refuse(pairs: Pairs): PromqlBypass | undefined {
  const limit = firstValue(pairs, 'limit')
  if (limit !== undefined && limit !== '0') return { bypass: 'limit' }
  return firstValue(pairs, 'stats') === undefined ? undefined : { bypass: 'stats' }
}
