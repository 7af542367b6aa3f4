/** Prometheus' additions to the planning of range queries: two parameters, and the checks of its older versions. */
import type { BackendOptions } from '../kind.ts'
import { isSince } from '../matrix/build-info.ts'
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
      // Before 3.9 two series that label_replace or label_join make equal were an error even where they never coexist:
      // the parts of such a query succeed where the whole fails.
      if (!examined.mayMergeSeries || isSince(flavour, 3, 9)) return undefined
      if (options.assume?.mergedLabels === true) return mergedLabels
      const detail = 'label functions over any labels need Prometheus 3.9 or later, or assume.mergedLabels'
      return { bypass: 'unsafe_function', detail }
    },
  })
