/** Turnilo's query planner, plywood, as a client: expressions as Turnilo makes them, planned and sent by plywood itself. */
import type { DruidClient, Subject } from '../client.ts'
import type { DruidRequester, Plywood } from './plywood.ts'
import { views } from './views.ts'

/** Longer than any query takes, also on a busy machine. */
const TIMEOUT_MS = 5 * 60_000

const attributes = [
  { name: '__time', type: 'TIME' },
  ...['page', 'country', 'city', 'robot'].map((name) => ({ name, type: 'STRING' })),
  { name: 'tags', type: 'SET/STRING' },
  { name: 'user', type: 'NUMBER' },
  ...['cnt', 'added', 'delta'].map((name) => ({ name, type: 'NUMBER', unsplitable: true })),
  { name: 'users', type: 'NULL', nativeType: 'hyperUnique', unsplitable: true },
]

export function turnilo(load: (name: string) => unknown, subject: Subject): DruidClient {
  const plywood = load('plywood') as Plywood
  const { druidRequesterFactory } = load('plywood-druid-requester') as DruidRequester
  // The requester writes into its context: each Druid has its own.
  const description = () => ({
    ...{ engine: 'druid', version: '33.0.0', source: subject.dataSource, timeAttribute: '__time' },
    ...{ attributes, allowSelectQueries: true, rollup: true, context: {} },
  })
  return {
    name: 'turnilo',
    async *ask(url) {
      const requester = druidRequesterFactory({ host: new URL(url).host, timeout: TIMEOUT_MS })
      const main = plywood.External.fromJS(description(), requester)
      for (const [name, view] of Object.entries(views(plywood, subject))) {
        await view.compute({ main }, { timezone: 'Etc/UTC' })
        yield name
      }
    },
    stop: async () => {},
  }
}
