/** A kind of database with Prometheus' HTTP API, from its differences. */
import { type Section, section } from '../../config/definition.ts'
import { fieldsIn } from '../../core/json-object.ts'
import type { BackendOptions, ConnectedDatabase, DatabaseKind, ExplainReader, QueryBody } from '../kind.ts'
import { rangeQueryPath } from './paths.ts'
import { type PromqlReason, promqlReasons } from './reasons.ts'
import { endpoints } from './whole-endpoints.ts'

type Own<Keys> = Pick<DatabaseKind<PromqlReason, Keys>, 'label' | 'known' | 'ports' | 'flavour' | 'load'> &
  Partial<DatabaseKind<PromqlReason, Keys>>

export const matrixKind = <Keys = unknown>(own: Own<Keys>): DatabaseKind<PromqlReason, Keys> => ({
  section: section({}) as Section<Keys>,
  reasons: promqlReasons,
  endpoints,
  exceptions: ['align', 'instant.within'],
  explain,
  clientLines: ({ url, which }) => [
    `In Grafana, set the URL of the Prometheus data source${which} to ${url}`,
  ],
  // A shape is the same as one of Prometheus, whose kind reads it.
  shapeText: () => undefined,
  isSpokenBy,
  examine: async () => [],
  ...own,
})

/** The options of a backend with its own keys: the settled age may change as long as it runs. */
export const optionsWith = <More>(options: BackendOptions, more: More): BackendOptions & More => ({
  ...more,
  maxBuckets: options.maxBuckets,
  get settledAgeMs() {
    return options.settledAgeMs
  },
})

const asForm = (body: string): QueryBody => ({ body, contentType: 'application/x-www-form-urlencoded' })

const explain: ExplainReader = {
  queryPath: () => rangeQueryPath,
  read: (text) => (/^(?:\S+&)?query=\S+$/.test(text) ? asForm(text) : undefined),
  overRange: (query, range) => asForm(new URLSearchParams({ query, ...range }).toString()),
}

/** Any other web server has no such answer to a query. */
async function isSpokenBy(database: ConnectedDatabase): Promise<boolean> {
  const answer = await database.get('/api/v1/query?query=1').catch(() => undefined)
  const { status } = fieldsIn(answer?.text ?? '')
  return status === 'success' || status === 'error'
}
