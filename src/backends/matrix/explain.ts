/** The input of `windowpane explain` for a database that takes PromQL as a form. */
import type { ExplainReader, QueryBody } from '../kind.ts'

const asForm = (body: string): QueryBody => ({ body, contentType: 'application/x-www-form-urlencoded' })

export const explainRanges = (path: string): ExplainReader => ({
  queryPath: () => path,
  read: (text) => (/^(?:\S+&)?query=\S+$/.test(text) ? asForm(text) : undefined),
  overRange: (query, range) => asForm(new URLSearchParams({ query, ...range }).toString()),
})
