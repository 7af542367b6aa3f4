/** Prometheus: range queries over the HTTP API, decomposed on a point grid, spliced from the server's own bytes. */
import { type MatrixBackend, matrixBackend } from '../matrix/backend.ts'
import { flavour } from './flavour.ts'
import { createPlanner, type PrometheusOptions } from './plan.ts'

export type { PrometheusOptions } from './plan.ts'

export const prometheus = (options: PrometheusOptions): MatrixBackend =>
  matrixBackend({ name: 'prometheus', flavour, planner: createPlanner(options) })
