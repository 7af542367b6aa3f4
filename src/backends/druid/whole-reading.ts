/** The meaning of a request whose answer is cached as a whole, apart from client and time. */
import type { TimeSpan } from '../../core/witness.ts'
import type { WholePlan } from '../whole-answers.ts'
import type { RowFormat, Span } from './druid-plan.ts'
import type { WholeEndpoint } from './whole-endpoints.ts'

export type WholeSources = Pick<WholePlan, 'sources' | 'knowsAllSources'>

export interface WholeReading extends WholeSources {
  readonly endpoint: WholeEndpoint
  readonly text: string
  /** The query as people know it: matched by rules and purges. */
  readonly query: string
  readonly span?: TimeSpan
  readonly ending: Ending
  readonly queryId: string | undefined
}

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
