/** The two tables: how they are defined, created and found to be there. */
import type { CreateTableCommandInput, ScalarAttributeType } from '@aws-sdk/client-dynamodb'
import { type Clock, pause } from '../../core/clock.ts'
import type { Refused } from '../kind.ts'
import { keepingAlive } from '../waiting.ts'
import { meaningOf, textOf } from './errors.ts'
import type { DynamoDbApi } from './library.ts'

export interface Tables {
  /** Panes and records. */
  readonly panes: string
  readonly cells: string
}

export const tablesOf = (table: string): Tables => ({ panes: table, cells: `${table}-cells` })

/** Of the API: DynamoDB itself has no versions. */
export const apiVersion = '2012-08-10'

interface TableDefinition extends CreateTableCommandInput {
  readonly TableName: string
}

const tableDefinition = (TableName: string, sortKey: ScalarAttributeType): TableDefinition => ({
  TableName,
  BillingMode: 'PAY_PER_REQUEST',
  KeySchema: [
    { AttributeName: 'pk', KeyType: 'HASH' },
    { AttributeName: 'sk', KeyType: 'RANGE' },
  ],
  AttributeDefinitions: [
    { AttributeName: 'pk', AttributeType: 'S' },
    { AttributeName: 'sk', AttributeType: sortKey },
  ],
})

const definitionsOf = ({ panes, cells }: Tables): readonly TableDefinition[] => [
  tableDefinition(panes, 'B'),
  tableDefinition(cells, 'S'),
]

const expiryOf = (TableName: string) => ({
  TableName,
  TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
})

/** The input of CreateTable and UpdateTimeToLive, in this order. */
export function definitionText(tables: Tables): string {
  const definitions = definitionsOf(tables)
  const steps = {
    CreateTable: definitions,
    UpdateTimeToLive: definitions.map(({ TableName }) => expiryOf(TableName)),
  }
  return `${JSON.stringify(steps, null, 2)}\n`
}

/** Creates missing tables and turns expiry on. @returns the tables that were created. */
export const createTables = (api: DynamoDbApi, tables: Tables, clock: Clock): Promise<string[] | Refused> =>
  keepingAlive(async () => {
    const created: string[] = []
    for (const definition of definitionsOf(tables)) {
      if (await createTable(api, definition)) created.push(definition.TableName)
      const refused = await untilActive(api, definition, clock)
      if (refused !== undefined) return refused
      await enableExpiry(api, definition.TableName)
    }
    return created
  })

/** @returns false where the table is there already. */
async function createTable(api: DynamoDbApi, definition: TableDefinition): Promise<boolean> {
  try {
    await api.createTable(definition)
    return true
  } catch (error) {
    if ((error as Error).name === 'ResourceInUseException') return false
    throw error
  }
}

const pollMs = 1000
const maxPolls = 120

async function untilActive(
  api: DynamoDbApi,
  definition: TableDefinition,
  clock: Clock,
): Promise<Refused | undefined> {
  for (let poll = 0; poll < maxPolls; poll++) {
    const { Table } = await api.describeTable({ TableName: definition.TableName })
    if (Table?.TableStatus === 'ACTIVE' || Table?.TableStatus === 'UPDATING')
      return otherKeys(definition, Table.AttributeDefinitions ?? [])
    await pause(clock, pollMs)
  }
  return {
    refused: 'not_active',
    detail: `the table ${definition.TableName} has not become active within two minutes`,
    remedy: 'look at it in the AWS console, and run this again',
  }
}

type Keys = NonNullable<CreateTableCommandInput['AttributeDefinitions']>

const keyTexts = (keys: Keys): string[] =>
  keys.map(({ AttributeName, AttributeType }) => `${AttributeName} (${AttributeType})`).sort()

function otherKeys(
  { TableName, AttributeDefinitions = [] }: TableDefinition,
  found: Keys,
): Refused | undefined {
  const [expected, actual] = [keyTexts(AttributeDefinitions), keyTexts(found)]
  if (expected.every((key) => actual.includes(key))) return undefined
  return {
    refused: 'other_table',
    detail: `the table ${TableName} has the keys ${actual.join(', ')} instead of ${expected.join(', ')}`,
    remedy: 'choose another name: this table belongs to something else',
  }
}

async function enableExpiry(api: DynamoDbApi, TableName: string): Promise<void> {
  if (!(await hasExpiry(api, TableName))) await api.updateTimeToLive(expiryOf(TableName))
}

export async function hasExpiry(api: DynamoDbApi, TableName: string): Promise<boolean> {
  const { TimeToLiveDescription } = await api.describeTimeToLive({ TableName })
  const status = TimeToLiveDescription?.TimeToLiveStatus
  return status === 'ENABLED' || status === 'ENABLING'
}

/** @returns the tables that are not there. */
export async function missingTables(api: DynamoDbApi, tables: Tables): Promise<string[] | Refused> {
  const missing: string[] = []
  for (const definition of definitionsOf(tables)) {
    const { TableName } = definition
    try {
      const { Table } = await api.describeTable({ TableName })
      const refused = otherKeys(definition, Table?.AttributeDefinitions ?? [])
      if (refused !== undefined) return refused
    } catch (error) {
      if (meaningOf(error) !== 'not_set_up') throw error
      missing.push(TableName)
    }
  }
  return missing
}

const remedies = {
  denied: 'check the credentials, and that their policy allows the actions in docs/guide/dynamodb.md',
  unreachable: 'check the network, the region and the endpoint',
} as const

export function refusalOf(error: unknown): Refused {
  const meaning = meaningOf(error) === 'denied' ? 'denied' : 'unreachable'
  return { refused: meaning, detail: textOf(error), remedy: remedies[meaning], cause: error }
}
