/** Prometheus' additions to the planning of range queries: two parameters, and the checks of its older versions. */
import type { Backend, Flavour } from '../backend.ts'
import { firstValue, type Pairs } from '../matrix/form.ts'
import * as matrix from '../matrix/plan.ts'
import type { PromqlBypass, PromqlReason } from '../matrix/reasons.ts'
import type { Assumptions } from '../matrix/section.ts'
import { createExaminer } from './promql.ts'

type Planner = Required<Pick<Backend<matrix.RangeQuery, PromqlReason>, 'parse' | 'plan' | 'over'>>

export interface PrometheusOptions extends matrix.PlannerOptions {
  /** Opt-in exceptions; none unless given. */
  readonly assume?: Assumptions
}

const mergedLabels = ['assume.mergedLabels'] as const

export function createPlanner(options: PrometheusOptions): Planner {
  const rules = { examine: createExaminer(), otherTerms: ['limit', 'stats'], refuse }
  const planner = matrix.createPlanner(options, rules)
  return {
    parse: planner.parse,
    over: planner.over,
    plan(query, now, flavour) {
      const layout = planner.layOut(query, now)
      if ('bypass' in layout) return layout
      if (!layout.examined.mayMergeSeries || checksLabelsPerStep(flavour)) {
        return { ...layout.plan, request: query.request }
      }
      if (options.assume?.mergedLabels === true) {
        return { ...layout.plan, exceptions: mergedLabels, request: query.request }
      }
      return {
        bypass: 'unsafe_function',
        detail: 'label functions over any labels need Prometheus 3.9 or later, or assume.mergedLabels',
      }
    },
  }
}

/**
 * Before 3.9 two series that label_replace or label_join make equal were an error even where they never coexist:
 * the parts of such a query succeed where the whole fails.
 */
function checksLabelsPerStep(flavour: Flavour | undefined): boolean {
  const [major = 0, minor = 0] = flavour?.version ?? []
  return major > 3 || (major === 3 && minor >= 9)
}

function refuse(pairs: Pairs): PromqlBypass | undefined {
  const limit = firstValue(pairs, 'limit')
  if (limit !== undefined && limit !== '0') return { bypass: 'limit' }
  if (firstValue(pairs, 'stats') !== undefined) return { bypass: 'stats' }
  return undefined
}
