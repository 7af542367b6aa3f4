/**
 * Druid with the data sets. test/run.ts starts one for all test files in test/druid and names it in the environment; a
 * test file run by itself starts its own. A test that stops or pauses it, or changes a data set, starts its own Druid,
 * or brings a data source of its own.
 */
import { isUnavailable, type Unavailable } from '../servers/availability.ts'
import { type Druid, type DruidAddresses, type DruidOptions, startDruid } from '../servers/druid/druid.ts'
import { type Ingestion, ingest } from '../servers/druid/ingest.ts'
import { tiny } from './data/tiny.ts'
import { wiki } from './data/wiki.ts'
import { years } from './data/years.ts'

const VARIABLE = 'WINDOWPANE_DRUID_FIXTURE'

/** A shared server can be queried, not stopped. */
export interface DruidFixture extends DruidAddresses {
  /** Stops the server if it was started by this call; a shared one stays. */
  stop(): Promise<void>
}

/** Returns the shared server, or one started now when there is none. */
export async function startDruidFixture(): Promise<DruidFixture | Unavailable> {
  const text = process.env[VARIABLE]
  if (!text) return startOwnDruidFixture()
  const shared = JSON.parse(text) as DruidAddresses | Unavailable
  return isUnavailable(shared) ? shared : { ...shared, stop: async () => {} }
}

/** Returns an exclusive server with the data sets. */
export async function startOwnDruidFixture(options: DruidOptions = {}): Promise<Druid | Unavailable> {
  const druid = await startDruid({ router: true, ...options })
  if (isUnavailable(druid)) return druid
  await Promise.all(dataSets.map((parts) => ingestInOrder(druid, parts)))
  return druid
}

/** Later parts are appended to earlier ones. */
const dataSets: readonly (readonly Ingestion[])[] = [wiki, [years], [tiny]]

async function ingestInOrder(druid: DruidAddresses, parts: readonly Ingestion[]): Promise<void> {
  for (const part of parts) await ingest(druid, part)
}

/** Returns the environment by which startDruidFixture() of other processes finds this server. */
export function druidEnvironment(druid: DruidAddresses | Unavailable): Record<string, string> {
  if (isUnavailable(druid)) return { [VARIABLE]: JSON.stringify({ unavailable: druid.unavailable }) }
  const { brokerUrl, routerUrl, coordinatorUrl, version } = druid
  return { [VARIABLE]: JSON.stringify({ brokerUrl, routerUrl, coordinatorUrl, version }) }
}
