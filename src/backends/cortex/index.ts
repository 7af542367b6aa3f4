/** Cortex: range queries below `/prometheus`, which is a part of the URL of the database. */
import type { Backend } from '../backend.ts'
import { errorTypeOf, matrixBackend } from '../matrix/backend.ts'
import type { PlannerOptions, RangeQuery } from '../matrix/plan.ts'
import type { PromqlReason } from '../matrix/reasons.ts'
import { flavour } from './flavour.ts'
import { createPlanner, isQuestionHeader } from './plan.ts'

export const cortex = (options: PlannerOptions): Backend<RangeQuery, PromqlReason> =>
  matrixBackend({
    name: 'cortex',
    ...{ flavour, errorTypeOf, isQuestionHeader },
    planner: createPlanner(options),
    wholeRefuses: ['stats'],
  })
