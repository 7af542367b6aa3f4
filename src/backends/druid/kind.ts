/** Druid, as far as it is known without its backend. */
import { isObject, jsonIn } from '../../core/json-object.ts'
import type { BackendFactory, ConnectedDatabase, DatabaseKind, QueryBody } from '../kind.ts'
import { flavour, versionIn } from './flavour.ts'
import { nativePath, sqlPath } from './paths.ts'
import { type DruidReason, druidReasons } from './reasons.ts'
import { type DruidConfig, druidSection } from './section.ts'
import { shapeText } from './shape-text.ts'
import { endpoints } from './whole-endpoints.ts'

export const druidKind: DatabaseKind<DruidReason, DruidConfig> = {
  label: 'Druid',
  known: 'Druid 25 and later',
  // Broker and Router.
  ports: [8082, 8888],
  flavour,
  section: druidSection,
  reasons: druidReasons,
  endpoints,
  exceptions: ['edges'],
  explain: { queryPath: (body) => (isSql(body) ? sqlPath : nativePath), read: readSql },
  clientLines: ({ url, which }) => [
    `In Grafana, set the URL of the Druid data source${which} to ${url}`,
    `In Superset, set the SQLAlchemy URI of the database${which} to ${sqlalchemyUri(url)}`,
  ],
  urlIn,
  shapeText,
  isSpokenBy,
  examine: async (subject, database) => (await import('./examine.ts')).examineDruid(subject, database),
  load,
}

/** Every version reports its version at the same path, also versions that are not cached. */
async function isSpokenBy(database: ConnectedDatabase): Promise<boolean> {
  const answer = await database.get(flavour.path).catch(() => undefined)
  return answer !== undefined && versionIn(answer.text) !== undefined
}

async function load(): Promise<BackendFactory<DruidConfig>> {
  const { druid } = await import('./index.ts')
  return {
    create({ maxBuckets }, { ignoreContext: ignoredContext, sqlTimeZone, segments }) {
      const backend = druid({ maxBuckets, ignoredContext, sqlTimeZone })
      return segments.watch ? { backend, segments } : { backend }
    },
  }
}

/** As pydruid, which Superset uses, wants it; `urlIn` is the way back. */
const sqlalchemyUri = (url: string): string =>
  url.replace(/^http(s?):/, (_, secure: string) => (secure === '' ? 'druid:' : 'druid+https:')) +
  `${sqlPath}/`

function urlIn(text: string): string | undefined {
  const [, secure = '', address] = /^druid(?:\+http(s)?)?:\/\/([\w.-]+(?::\d+)?)(?:\/|$)/.exec(text) ?? []
  return address && `http${secure}://${address}`
}

/** No PromQL has these words in this order outside of a text. */
function readSql(text: string): QueryBody | undefined {
  if (!/^(?:SET\s[^;]*;\s*)*(?:SELECT|WITH)\s.*\sFROM\s/is.test(text)) return undefined
  return { body: JSON.stringify({ query: text }), contentType: 'application/json' }
}

function isSql(body: string): boolean {
  const given = jsonIn(body)
  return isObject(given) && 'query' in given && !('queryType' in given)
}
