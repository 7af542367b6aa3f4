/** The checks of `doctor` and `store` for DynamoDB, and the tables that `store init` creates. */
import type { Clock } from '../../core/clock.ts'
import { capital, fail, fastestOf, speedFinding, warn } from '../findings.ts'
import type { Created, Inspected, Refused, StoreFinding } from '../kind.ts'
import { recordKey } from './keys.ts'
import type { DynamoDbConfig } from './kind.ts'
import { connect, type DynamoDbApi } from './library.ts'
import { apiVersion, createTables, hasExpiry, missingTables, refusalOf, tablesOf } from './tables.ts'

/** Creating a table, or finding credentials, takes longer than a read. */
const timeoutMs = 10_000

/** Runs an action with a client that is closed afterwards. */
async function withApi<T>(
  { region, endpoint }: DynamoDbConfig,
  action: (api: DynamoDbApi) => Promise<T | Refused>,
): Promise<T | Refused> {
  const api = await connect({ region, endpoint, timeoutMs })
  if ('refused' in api) return api
  try {
    return await action(api)
  } catch (error) {
    return refusalOf(error)
  } finally {
    api.destroy()
  }
}

export const createDynamoDb = (config: DynamoDbConfig, clock: Clock): Promise<Created | Refused> =>
  withApi(config, async (api) => {
    const created = await createTables(api, tablesOf(config.table), clock)
    return 'refused' in created ? created : { created }
  })

export const inspectDynamoDb = (config: DynamoDbConfig): Promise<Inspected | Refused> =>
  withApi(config, async (api) => {
    const missing = await missingTables(api, tablesOf(config.table))
    return 'refused' in missing ? missing : { version: apiVersion, missing }
  })

export async function examineDynamoDb(config: DynamoDbConfig, clock: Clock): Promise<StoreFinding[]> {
  const findings = await withApi(config, async (api) => {
    const missing = await missingTables(api, tablesOf(config.table))
    if ('refused' in missing) return missing
    if (missing.length > 0) return [missingFinding(missing)]
    return [await readFinding(api, config, clock), ...(await expiryFindings(api, config))]
  })
  if (!('refused' in findings)) return findings
  const { detail, remedy } = findings
  return [fail(`DynamoDB cannot be used: ${detail}.`, `${capital(remedy)}.`)]
}

const missingFinding = (missing: readonly string[]): StoreFinding =>
  fail(
    `DynamoDB answers, but has no table ${missing.join(' and no table ')}.`,
    'Create them: windowpane store init.',
  )

const attempts = 3

async function readFinding(api: DynamoDbApi, { table }: DynamoDbConfig, clock: Clock): Promise<StoreFinding> {
  const Key = { pk: { S: 'doctor' }, sk: { B: recordKey } }
  const ms = await fastestOf(attempts, clock, () => api.getItem({ TableName: table, Key }))
  return speedFinding('The tables are there; a read', ms, 'Use a table in the region of this machine.')
}

async function expiryFindings(api: DynamoDbApi, { table }: DynamoDbConfig): Promise<StoreFinding[]> {
  const findings: StoreFinding[] = []
  for (const name of Object.values(tablesOf(table))) {
    if (await hasExpiry(api, name)) continue
    const text = `The table ${name} does not expire its items: answers stay right, and it grows without end.`
    findings.push(warn(text, 'Turn its TTL on: windowpane store init.'))
  }
  return findings
}
