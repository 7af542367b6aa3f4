/**
 * DynamoDB Local for test files. test/run.ts starts one for all of them and names it in the environment; a test file
 * run by itself starts its own. Test files keep apart by table names. A test that stops the server starts its own.
 */
import { isUnavailable, type Unavailable } from '../availability.ts'
import { type DynamoDbAddress, startDynamoDb } from './dynamodb.ts'

const VARIABLE = 'WINDOWPANE_DYNAMODB_FIXTURE'

/** A shared server can be queried, not stopped. */
export interface DynamoDbFixture extends DynamoDbAddress {
  /** Stops the server if it was started by this call; a shared one stays. */
  stop(): Promise<void>
}

/** Returns the shared server, or one started now when there is none. */
export async function startDynamoDbFixture(): Promise<DynamoDbFixture | Unavailable> {
  const text = process.env[VARIABLE]
  if (!text) return startDynamoDb()
  const shared = JSON.parse(text) as DynamoDbAddress | Unavailable
  return isUnavailable(shared) ? shared : { ...shared, stop: async () => {} }
}

/** Returns the environment by which startDynamoDbFixture() of other processes finds this server. */
export function dynamoDbEnvironment(server: DynamoDbAddress | Unavailable): Record<string, string> {
  if (isUnavailable(server)) return { [VARIABLE]: JSON.stringify({ unavailable: server.unavailable }) }
  const { endpoint, version } = server
  return { [VARIABLE]: JSON.stringify({ endpoint, version }) }
}
