/**
 * VictoriaMetrics: range queries over Prometheus' HTTP API. Requests for parts have `nocache=1`: otherwise windows of 50
 * points and more are aligned to the step, and parts would lie on another grid than the whole.
 */
import type { Backend } from '../backend.ts'
import { MatrixSink } from '../matrix/decompose.ts'
import { differenceFrom } from '../matrix/difference.ts'
import { errorAnswerAs } from '../matrix/error-answer.ts'
import { narrow } from '../matrix/narrow.ts'
import { isRangeQuery } from '../matrix/paths.ts'
import type { PlannerOptions, RangeQuery } from '../matrix/plan.ts'
import { type PromqlReason, promqlReasons } from '../matrix/reasons.ts'
import { recompose } from '../matrix/recompose.ts'
import { wholeAnswers } from '../matrix/whole.ts'
import { flavour } from './flavour.ts'
import { indexRank, orderOf } from './label-order.ts'
import { createPlanner } from './plan.ts'

const executionMembers = ['stats']
const byNames = { executionMembers, hasPartialFlag: true, hasShortInstants: true }
const byIndex = { ...byNames, rankOf: indexRank }

export function victoriametrics(options: PlannerOptions): Backend<RangeQuery, PromqlReason> {
  return {
    name: 'victoriametrics',
    capabilities: { severalIntervals: false, keptHeaders: [], executionMembers },
    flavour,
    claims: isRangeQuery,
    ...createPlanner(options),
    narrow: (plan, [interval]) => narrow(plan, interval!, [['nocache', '1']]),
    decompose: ({ text, grid }, [interval]) =>
      new MatrixSink(grid, interval!, orderOf(text) === 'index' ? byIndex : byNames),
    recompose: (_plan, panes, recomposeOptions) => recompose(panes, recomposeOptions),
    presentation: {
      reasons: promqlReasons,
      errorAnswer: errorAnswerAs(String),
      differenceFrom: (direct, answer) => differenceFrom(direct, answer, executionMembers),
    },
    whole: wholeAnswers(['stats', 'trace', 'latency_offset']),
  }
}
