/** Druid, as far as it is known without its backend. */
import type { DatabaseKind } from '../kind.ts'
import { flavour } from './flavour.ts'
import { nativePath, sqlPath } from './paths.ts'
import { type DruidReason, druidReasons } from './reasons.ts'
import { shapeText } from './shape-text.ts'

export const druidKind: DatabaseKind<DruidReason> = {
  label: 'Druid',
  known: 'Druid 25 and later',
  // Broker and Router.
  ports: [8082, 8888],
  flavour,
  clientLines: ({ url, which }) => [
    `In Grafana, set the URL of the Druid data source${which} to ${url}`,
    `In Superset, set the SQLAlchemy URI of the database${which} to ${sqlalchemyUri(url)}`,
  ],
  queryPath: (body) => (isSql(body) ? sqlPath : nativePath),
  shapeText,
  reasons: druidReasons,
  load: async () => (await import('./index.ts')).druid,
}

/** As pydruid, which Superset uses, wants it. */
const sqlalchemyUri = (url: string): string =>
  url.replace(/^http(s?):/, (_, secure: string) => (secure === '' ? 'druid:' : 'druid+https:')) +
  `${sqlPath}/`

function isSql(body: string): boolean {
  try {
    const given: unknown = JSON.parse(body)
    return typeof given === 'object' && given !== null && 'query' in given && !('queryType' in given)
  } catch {
    return false
  }
}
