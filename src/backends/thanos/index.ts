/**
 * Thanos: range queries to a querier, or to a query-frontend that does not align them. A querier whose stores do not
 * all answer returns a partial answer, with a warning. Requests for parts want all or nothing
 * (`partial_response=false`).
 */
import { type MatrixBackend, matrixBackend } from '../matrix/backend.ts'
import { plainWire, type Wire } from '../matrix/wire.ts'
import { flavour } from './flavour.ts'
import { createPlanner, isQuestionHeader, type ThanosOptions } from './plan.ts'

const wire: Wire = { ...plainWire, executionMembers: ['analysis'] }

export const thanos = (options: ThanosOptions): MatrixBackend =>
  matrixBackend({
    name: 'thanos',
    ...{ flavour, isQuestionHeader },
    planner: createPlanner(options),
    wire,
    parameters: () => [['partial_response', 'false']],
    wholeRefuses: ['analyze'],
    // A missing store is an error of execution.
    strictStatuses: [422],
  })
