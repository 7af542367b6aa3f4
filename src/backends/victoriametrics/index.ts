/**
 * VictoriaMetrics: range queries over Prometheus' HTTP API. Requests for parts have `nocache=1`: otherwise windows of 50
 * points and more are aligned to the step, and parts would lie on another grid than the whole.
 */
import type { BackendOptions } from '../kind.ts'
import { type MatrixBackend, matrixBackend } from '../matrix/backend.ts'
import type { Wire } from '../matrix/wire.ts'
import { flavour } from './flavour.ts'
import { indexRank, orderOf } from './label-order.ts'
import { createPlanner, isQuestionHeader } from './plan.ts'

const wire: Wire = { executionMembers: ['stats'], hasPartialFlag: true, hasShortInstants: true }
const byIndex = { ...wire, rankOf: indexRank }

export const victoriametrics = (options: BackendOptions): MatrixBackend =>
  matrixBackend({
    name: 'victoriametrics',
    ...{ flavour, isQuestionHeader },
    planner: createPlanner(options),
    wire,
    wireOf: ({ text }) => (orderOf(text) === 'index' ? byIndex : wire),
    parameters: () => [['nocache', '1']],
    errorTypeOf: String,
    wholeRefuses: ['trace', 'latency_offset'],
  })
