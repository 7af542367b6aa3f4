/** Prometheus: range queries over the HTTP API, decomposed on a point grid, spliced from the server's own bytes. */
import type { Backend } from '../backend.ts'
import { MatrixSink } from '../matrix/decompose.ts'
import { differenceFrom } from '../matrix/difference.ts'
import { errorAnswerAs } from '../matrix/error-answer.ts'
import { narrow } from '../matrix/narrow.ts'
import { isRangeQuery } from '../matrix/paths.ts'
import type { RangeQuery } from '../matrix/plan.ts'
import { type PromqlReason, promqlReasons } from '../matrix/reasons.ts'
import { recompose } from '../matrix/recompose.ts'
import { wholeAnswers } from '../matrix/whole.ts'
import { flavour } from './flavour.ts'
import { createPlanner } from './plan.ts'

export interface PrometheusOptions {
  /** Data of this age no longer changes: an `@` modifier may point to it. Read for every request, so it may be a getter. */
  readonly settledAgeMs: number
  /** The most buckets that one request may have. */
  readonly maxBuckets: number
}

export function prometheus(options: PrometheusOptions): Backend<RangeQuery, PromqlReason> {
  const planner = createPlanner(options)
  return {
    name: 'prometheus',
    capabilities: { severalIntervals: false, keptHeaders: [] },
    flavour,
    claims: isRangeQuery,
    parse: planner.parse,
    plan: planner.plan,
    narrow: (plan, [interval]) => narrow(plan, interval!),
    decompose: (plan, [interval]) => new MatrixSink(plan.grid, interval!),
    recompose: (_plan, panes, recomposeOptions) => recompose(panes, recomposeOptions),
    presentation: { reasons: promqlReasons, errorAnswer: errorAnswerAs(errorTypeOf), differenceFrom },
    whole: wholeAnswers(['stats']),
  }
}

const errorTypes = new Map([
  [400, 'bad_data'],
  [413, 'bad_data'],
  [500, 'internal'],
  [504, 'timeout'],
])

const errorTypeOf = (status: number): string => errorTypes.get(status) ?? 'unavailable'
