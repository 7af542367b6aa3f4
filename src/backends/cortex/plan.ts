/** Cortex' additions to the planning of range queries: tenants, and the engine that a header chooses. */
import { namedLike } from '../../core/name-pattern.ts'
import { createCompatiblePlanner } from '../matrix/compatible.ts'
import type { PlannerOptions } from '../matrix/plan.ts'

export const isQuestionHeader = namedLike(['x-scope-orgid', 'x-promql-*', 'x-cortex-*'])

export const createPlanner = (options: PlannerOptions) =>
  createCompatiblePlanner(options, { isQuestionHeader })
