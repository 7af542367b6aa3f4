/** Prometheus: range queries over the HTTP API, decomposed on a point grid, spliced from the server's own bytes. */
import type { Backend } from '../backend.ts'
import { buildInfoPath } from '../matrix/build-info.ts'
import { MatrixSink } from '../matrix/decompose.ts'
import { differenceFrom } from '../matrix/difference.ts'
import { narrow } from '../matrix/narrow.ts'
import { isRangeQuery } from '../matrix/paths.ts'
import type { RangeQuery } from '../matrix/plan.ts'
import { recompose } from '../matrix/recompose.ts'
import { readFlavour } from './flavour.ts'
import { createPlanner } from './plan.ts'

export interface PrometheusOptions {
  /** Data of this age no longer changes: an `@` modifier may point to it. */
  readonly settledAgeMs: number
  /** The most buckets that one request may have. */
  readonly maxBuckets: number
}

export function prometheus(options: PrometheusOptions): Backend<RangeQuery> {
  const planner = createPlanner(options)
  return {
    name: 'prometheus',
    flavourPath: buildInfoPath,
    readFlavour,
    claims: isRangeQuery,
    errorAnswer: (status, error) => ({
      contentType: 'application/json',
      body: JSON.stringify({ status: 'error', errorType: errorTypes.get(status) ?? 'unavailable', error }),
    }),
    parse: planner.parse,
    plan: planner.plan,
    takesSeveralIntervals: false,
    keptHeaders: [],
    narrow: (plan, [interval]) => narrow(plan, interval!),
    decompose: (plan, [interval]) => new MatrixSink(plan.grid, interval!),
    recompose: (_plan, panes, recomposeOptions) => recompose(panes, recomposeOptions),
    differenceFrom,
  }
}

const errorTypes = new Map([
  [400, 'bad_data'],
  [413, 'bad_data'],
  [500, 'internal'],
  [504, 'timeout'],
])
