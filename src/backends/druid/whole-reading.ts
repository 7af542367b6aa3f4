/** The meaning of a request whose answer is cached as a whole, apart from client and time. */
import { hullOf } from '../../core/interval.ts'
import type { TimeSpan } from '../../core/witness.ts'
import type { WholePlan } from '../whole-answers.ts'
import type { RowFormat, Span } from './druid-plan.ts'
import type { WholeEndpoint } from './whole-endpoints.ts'

export interface DruidWholePlan extends WholePlan {
  readonly endpoint: WholeEndpoint
  readonly ending: AnswerEnding
}

export type WholeReading = Omit<DruidWholePlan, 'request'>

/** How an answer is written: by that it is seen whether its end is there. */
export type AnswerEnding = Pick<RowFormat, 'container' | 'row' | 'end'>

/** Of native queries. */
export const listEnding: AnswerEnding = { container: 'list', row: 'array', end: '' }

/** From the first instant to the last, gaps included. Without any bound there is no span. */
export function spanOf(spans: readonly Span[]): { readonly span?: TimeSpan } {
  const span = hullOf(spans)
  const isEndless = span.from === Number.NEGATIVE_INFINITY && span.to === Number.POSITIVE_INFINITY
  return spans.length === 0 || isEndless ? {} : { span }
}
