/** DynamoDB as a kind of store. */
import { optional, required, section, type TypeValue } from '../../config/definition.ts'
import { textual, url } from '../../config/text-scalars.ts'
import type { RefusedUrl, StoreKind, StoreUrl, UrlKeys } from '../kind.ts'
import { restart } from '../server-keys.ts'
import { definitionText, tablesOf } from './tables.ts'

/** DynamoDB takes 255 characters, of which the table of cells needs six more. */
const tableName = textual({
  label: 'table name',
  expected: 'the name of a table: 3 to 249 letters, digits, "_", "-" or "."',
  pattern: '^[A-Za-z0-9_.-]{3,249}$',
})
const regionName = textual({
  label: 'AWS region',
  expected: 'the name of an AWS region, such as eu-central-1',
  pattern: '^[a-z0-9-]+$',
})
const endpointUrl = { ...url, expected: 'the URL of a DynamoDB, such as http://127.0.0.1:8000' }

const dynamoDbSection = section({
  table: required(
    tableName,
    'the table of panes; that of cells is called the same with `-cells` behind',
    restart,
  ),
  region: optional(regionName, 'the AWS region; else that of the environment or of the profile', restart),
  endpoint: optional(endpointUrl, 'the URL of DynamoDB, if not the address of the region', restart),
})

export type DynamoDbConfig = TypeValue<typeof dynamoDbSection>

export const dynamoDbKind: StoreKind<DynamoDbConfig> = {
  schemes: ['dynamodb'],
  urlForm: 'dynamodb://TABLE?region=REGION',
  section: dynamoDbSection,
  readUrl: tableOf,
  isFar: true,
  isRemote: true,
  capabilities: { cells: true, ttl: 's', pubsub: false },
  timeoutMs: 500,
  placeOf: ({ table, region = '', endpoint = '' }) => ({
    key: 'table',
    place: `${region} ${endpoint} ${table}`,
  }),
  examine: async (config, clock) => (await import('./examine.ts')).examineDynamoDb(config, clock),
  inspect: async (config) => (await import('./examine.ts')).inspectDynamoDb(config),
  setup: {
    definition: ({ table }) => definitionText(tablesOf(table)),
    create: async (config, clock) => (await import('./examine.ts')).createDynamoDb(config, clock),
  },
  async open({ table, region, endpoint }, { clock, retentionMs, timeoutMs }) {
    const { openDynamoDbStore } = await import('./index.ts')
    return openDynamoDbStore({ table, region, endpoint, clock, retentionMs, timeoutMs })
  },
}

/** `dynamodb://table` or `dynamodb:table`. */
function tableOf({ place }: StoreUrl): UrlKeys | RefusedUrl {
  const table = place.replace(/^\/\//, '').replace(/\/$/, '')
  if (table === '') return { refused: 'names no table: expected dynamodb://TABLE?region=REGION' }
  if (table.includes('@')) return { refused: 'must not hold credentials: the AWS SDK finds them by itself' }
  return { table }
}
