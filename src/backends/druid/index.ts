/** Apache Druid: native and SQL queries grouped by time, decomposed on a cell grid, spliced from the server's own rows. */
import type { Backend, ErrorAnswer } from '../backend.ts'
import { RowSink } from './decompose.ts'
import { differenceFrom } from './difference.ts'
import type { DruidOptions, DruidPlan } from './druid-plan.ts'
import { flavour } from './flavour.ts'
import { cancelledAnswer, cancels, isCancellation, ownHeaders } from './ids.ts'
import { narrow } from './narrow.ts'
import { createPlanner, type DruidQuery, isDruidQuery } from './plan.ts'
import { type DruidReason, druidReasons } from './reasons.ts'
import { recompose } from './recompose.ts'
import { segments } from './segments.ts'
import { requestText } from './shape-text.ts'
import { wholeAnswers } from './whole.ts'

export type { DruidOptions } from './druid-plan.ts'
export type { DruidQuery } from './plan.ts'

export function druid(options: DruidOptions): Backend<DruidQuery, DruidReason> {
  const planner = createPlanner(options)
  return {
    name: 'druid',
    capabilities: {
      severalIntervals: true,
      keptHeaders: ['x-druid-response-context', 'x-druid-sql-header-included'],
      // Jetty sends `Vary: Accept-Encoding, User-Agent`, because it does not compress for some old browsers.
      encodingHeaders: ['user-agent'],
    },
    flavour,
    claims: isDruidQuery,
    parse: planner.parse,
    plan: planner.plan,
    over: planner.over,
    narrow: (plan, intervals) => narrow(plan as DruidPlan, intervals),
    decompose: (plan, intervals) => new RowSink(plan as DruidPlan, intervals),
    recompose: (plan, panes) => recompose(plan as DruidPlan, panes),
    presentation: { reasons: druidReasons, errorAnswer, ownHeaders, requestText, differenceFrom },
    cancellation: { cancels, cancelledAnswer, isCancellation },
    whole: wholeAnswers(options, planner),
    segments,
  }
}

const errorAnswer = (status: number, errorMessage: string): ErrorAnswer => ({
  contentType: 'application/json',
  body: JSON.stringify({
    error: errors.get(status) ?? 'Unknown exception',
    errorMessage,
    errorClass: null,
    host: null,
  }),
})

/** The words that Druid has for them. */
const errors = new Map([
  [429, 'Query capacity exceeded'],
  [501, 'Unsupported operation'],
  [504, 'Query timeout'],
])
