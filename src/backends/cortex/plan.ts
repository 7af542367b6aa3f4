/** Cortex' additions to the planning of range queries: tenants, and the engine that a header chooses. */
import { namedLike } from '../../core/name-pattern.ts'
import { createCompatiblePlanner } from '../matrix/compatible.ts'
import type { Planner } from '../matrix/plan.ts'
import type { LateOptions } from '../matrix/settled-age.ts'

export const isQuestionHeader = namedLike(['x-scope-orgid', 'x-promql-*', 'x-cortex-*'])

export const createPlanner = (options: LateOptions): Planner =>
  createCompatiblePlanner(options, { isQuestionHeader })
