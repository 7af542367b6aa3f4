/**
 * VictoriaMetrics: range queries over Prometheus' HTTP API. Requests for parts have `nocache=1`: otherwise windows of 50
 * points and more are aligned to the step, and parts would lie on another grid than the whole.
 */
import type { BackendOptions } from '../kind.ts'
import { type MatrixBackend, matrixBackend } from '../matrix/backend.ts'
import { plainWire } from '../matrix/wire.ts'
import { flavour } from './flavour.ts'
import { indexRank, orderOf } from './label-order.ts'
import { createPlanner } from './plan.ts'

const executionMembers = ['stats']
const byNames = { ...plainWire, executionMembers, hasPartialFlag: true, hasShortInstants: true }
const byIndex = { ...byNames, rankOf: indexRank }

export const victoriametrics = (options: BackendOptions): MatrixBackend =>
  matrixBackend({
    name: 'victoriametrics',
    flavour,
    planner: createPlanner(options),
    wireOf: ({ text }) => (orderOf(text) === 'index' ? byIndex : byNames),
    parameters: () => [['nocache', '1']],
    errorTypeOf: String,
    wholeRefuses: ['trace', 'latency_offset'],
    capabilities: { executionMembers },
  })
