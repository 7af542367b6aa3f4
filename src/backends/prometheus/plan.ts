/** Prometheus' additions to the planning of range queries: two parameters, and the checks of its older versions. */
import type { Flavour } from '../backend.ts'
import type { BackendOptions } from '../kind.ts'
import { execution } from '../matrix/compatible.ts'
import * as matrix from '../matrix/plan.ts'
import { createExaminer } from './promql.ts'
import type { PrometheusConfig } from './section.ts'

export interface PrometheusOptions extends BackendOptions {
  /** Opt-in exceptions; none unless given. */
  readonly assume?: Pick<PrometheusConfig['assume'], 'mergedLabels'>
}

const mergedLabels = ['assume.mergedLabels'] as const

export const createPlanner = (options: PrometheusOptions): matrix.Planner =>
  matrix.createPlanner(options, {
    ...execution,
    examine: createExaminer(),
    exceptionsFor(_query, examined, flavour) {
      if (!examined.mayMergeSeries || checksLabelsPerStep(flavour)) return undefined
      if (options.assume?.mergedLabels === true) return mergedLabels
      const detail = 'label functions over any labels need Prometheus 3.9 or later, or assume.mergedLabels'
      return { bypass: 'unsafe_function', detail }
    },
  })

/**
 * Before 3.9 two series that label_replace or label_join make equal were an error even where they never coexist:
 * the parts of such a query succeed where the whole fails.
 */
function checksLabelsPerStep(flavour: Flavour | undefined): boolean {
  const [major = 0, minor = 0] = flavour?.version ?? []
  return major > 3 || (major === 3 && minor >= 9)
}
