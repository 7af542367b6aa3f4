/** A backend of PromQL over Prometheus' HTTP API, from the differences of one database. */
import type { Interval } from '../../core/interval.ts'
import type { Backend, BackendCapabilities, FlavourProbe, Plan } from '../backend.ts'
import { MatrixSink } from './decompose.ts'
import { differenceFrom } from './difference.ts'
import { narrow, type Values } from './narrow.ts'
import { isRangeQuery } from './paths.ts'
import type { Planner, RangeQuery } from './plan.ts'
import type { IsQuestionHeader } from './question-headers.ts'
import { type PromqlReason, promqlReasons } from './reasons.ts'
import { recompose } from './recompose.ts'
import { askedInterval, cuttingSink } from './single-step.ts'
import { wholeAnswers } from './whole.ts'
import { plainWire, type Wire } from './wire.ts'

export interface MatrixDatabase {
  readonly name: string
  readonly flavour: FlavourProbe
  readonly planner: Planner
  /** The form of its answers; that of Prometheus by default. */
  readonly wire?: Wire
  /** Where the form of an answer to a narrowed request depends on the plan. */
  readonly wireOf?: (plan: Plan) => Wire
  /** Parameters that narrowed requests have besides, or instead of the client's. */
  readonly parameters?: (plan: Plan, interval: Interval) => Values
  /** Its name of an error; that of Prometheus by default. */
  readonly errorTypeOf?: (status: number) => string
  /** Parameters with which no answer is cached as a whole, besides `stats`. */
  readonly wholeRefuses?: readonly string[]
  /** Which request headers, in lower case, are part of the shape; none by default. */
  readonly isQuestionHeader?: IsQuestionHeader
  readonly strictStatuses?: BackendCapabilities['strictStatuses']
}

export type MatrixBackend = Backend<RangeQuery, PromqlReason>

const usual = { severalIntervals: false, keptHeaders: [] } as const

export function matrixBackend(database: MatrixDatabase): MatrixBackend {
  const { wire = plainWire, wireOf = () => wire, parameters = () => [], strictStatuses = [] } = database
  const { errorTypeOf = prometheusErrorType, wholeRefuses = [], isQuestionHeader } = database
  const { executionMembers, isPartial } = wire
  const { parse, plan, over, settledAgeMs } = database.planner
  return {
    name: database.name,
    capabilities: { ...usual, executionMembers, strictStatuses, settledAgeMs },
    flavour: database.flavour,
    claims: isRangeQuery,
    ...{ parse, plan, over },
    narrow(plan, [interval]) {
      const asked = askedInterval(plan, interval!)
      return narrow(plan, asked, parameters(plan, asked))
    },
    decompose(plan, [interval]) {
      const asked = askedInterval(plan, interval!)
      const sink = new MatrixSink(plan.grid, asked, wireOf(plan))
      return asked === interval ? sink : cuttingSink(sink, interval!)
    },
    recompose: (_plan, panes, options) => recompose(panes, options),
    presentation: {
      reasons: promqlReasons,
      errorAnswer: (status, error) => ({
        contentType: 'application/json',
        body: JSON.stringify({ status: 'error', errorType: errorTypeOf(status), error }),
      }),
      differenceFrom: (direct, answer) => differenceFrom(direct, answer, executionMembers),
    },
    whole: wholeAnswers({ refused: ['stats', ...wholeRefuses], isQuestionHeader, isPartial }),
  }
}

const errorTypes = new Map([
  [400, 'bad_data'],
  [413, 'bad_data'],
  [500, 'internal'],
  [504, 'timeout'],
])

const prometheusErrorType = (status: number): string => errorTypes.get(status) ?? 'unavailable'
