/**
 * Planning for databases that keep Prometheus' samples in a storage of their own and compute with its query engine, or
 * with one that follows it. Accepts only rules that hold for every version: by default no negative offsets, no sorting,
 * no label functions.
 */
import type { Backend, Flavour, Plan } from '../backend.ts'
import { promqlDialect } from './dialect.ts'
import { firstValue, type Pairs } from './form.ts'
import { createPlanner, type PlannerOptions, type RangeQuery } from './plan.ts'
import { createExaminer } from './promql.ts'
import type { IsQuestionHeader } from './question-headers.ts'
import type { PromqlBypass, PromqlReason } from './reasons.ts'

export interface CompatibleRules {
  /** Which request headers, in lower case, are part of the question. */
  readonly isQuestionHeader: IsQuestionHeader
  /** Parameters that are never part of the question, besides those of Prometheus. */
  readonly otherTerms?: readonly string[]
  /** Requests that the database reads in its own way, besides `limit` and `stats`. */
  refuse?(query: RangeQuery, flavour: Flavour | undefined): PromqlBypass | undefined
  /** Whether series that a label function makes equal are checked at each step alone; by default they are not. */
  checksLabelsPerStep?(query: RangeQuery, flavour: Flavour | undefined): boolean
  /** How the plan of Prometheus is to be changed. */
  adjust?(plan: Plan): Plan | PromqlBypass
}

export function createCompatiblePlanner(
  options: PlannerOptions,
  rules: CompatibleRules,
): Required<Pick<Backend<RangeQuery, PromqlReason>, 'parse' | 'plan' | 'over'>> {
  const { isQuestionHeader, adjust = (plan) => plan } = rules
  const planner = createPlanner(options, {
    ...{ isQuestionHeader, otherTerms: ['limit', 'stats', ...(rules.otherTerms ?? [])] },
    examine: createExaminer(promqlDialect),
    refuse: refuseExecution,
  })
  return {
    parse: planner.parse,
    plan(query, now, flavour) {
      const layout = planner.layOut(query, now)
      if ('bypass' in layout) return layout
      if (layout.examined.mayMergeSeries && rules.checksLabelsPerStep?.(query, flavour) !== true)
        return { bypass: 'unsafe_function', detail: 'label functions' }
      const refusal = rules.refuse?.(query, flavour)
      return refusal ?? adjust({ ...layout.plan, request: query.request })
    },
    over(plan, asked) {
      const other = planner.over(plan, asked)
      return 'bypass' in other ? other : adjust(other)
    },
  }
}

/** Parameters that truncate an answer as a whole, or add execution data to it. */
function refuseExecution(pairs: Pairs): PromqlBypass | undefined {
  const limit = firstValue(pairs, 'limit')
  if (limit !== undefined && limit !== '0') return { bypass: 'limit' }
  return firstValue(pairs, 'stats') === undefined ? undefined : { bypass: 'stats' }
}
