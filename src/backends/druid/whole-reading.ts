/** The meaning of a request whose answer is cached as a whole, apart from client and time. */
import type { TimeSpan } from '../../core/witness.ts'
import type { WholePlan } from '../whole-answers.ts'
import type { RowFormat, Span } from './druid-plan.ts'
import type { WholeEndpoint } from './whole-endpoints.ts'

export interface DruidWholePlan extends WholePlan {
  readonly endpoint: WholeEndpoint
  readonly ending: Ending
}

export type WholeReading = Omit<DruidWholePlan, 'request'>

/** How an answer is written: by that it is seen whether its end is there. */
export type Ending = Pick<RowFormat, 'container' | 'row' | 'end'>

/** Of native queries. */
export const listEnding: Ending = { container: 'list', row: 'array', end: '' }

/** From the first instant to the last, gaps included. Without any bound there is no span. */
export function spanOf(spans: readonly Span[]): { readonly span?: TimeSpan } {
  const [first, last] = [spans[0], spans.at(-1)]
  if (first === undefined || last === undefined) return {}
  const isEndless = first.from === Number.NEGATIVE_INFINITY && last.to === Number.POSITIVE_INFINITY
  return isEndless ? {} : { span: { from: first.from, to: last.to } }
}
