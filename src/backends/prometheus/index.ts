/** Prometheus: range queries over the HTTP API, decomposed on a point grid, spliced from the server's own bytes. */
import type { Backend } from '../backend.ts'
import { matrixBackend } from '../matrix/backend.ts'
import type { RangeQuery } from '../matrix/plan.ts'
import type { PromqlReason } from '../matrix/reasons.ts'
import { flavour } from './flavour.ts'
import { createPlanner, type PrometheusOptions } from './plan.ts'

export type { PrometheusOptions } from './plan.ts'

export const prometheus = (options: PrometheusOptions): Backend<RangeQuery, PromqlReason> =>
  matrixBackend({ name: 'prometheus', flavour, planner: createPlanner(options) })
