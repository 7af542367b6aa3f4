/** The part of the AWS SDK that is used here, how it is loaded (it is an optional peer), and how it is configured. */
import type { AttributeValue, DynamoDB, DynamoDBClientConfig } from '@aws-sdk/client-dynamodb'
import { isLoopback } from '../../core/socket-address.ts'
import { loadClient, type Refused } from '../kind.ts'

export type Item = Record<string, AttributeValue>

type Method =
  | 'getItem'
  | 'putItem'
  | 'deleteItem'
  | 'query'
  | 'batchGetItem'
  | 'batchWriteItem'
  | 'transactWriteItems'
  | 'createTable'
  | 'describeTable'
  | 'describeTimeToLive'
  | 'updateTimeToLive'

export interface DynamoDbApi extends Pick<DynamoDB, Method | 'destroy'> {
  readonly config: { region(): Promise<string> }
}

interface DynamoDbLibrary {
  readonly DynamoDB: new (config: DynamoDBClientConfig) => DynamoDbApi
}

/** The version that package.json requires. */
const libraryVersion = '3.1162.0'

export interface Connection {
  /** Undefined where the environment or a profile names it. */
  readonly region: string | undefined
  /** Undefined for the service's own in that region. */
  readonly endpoint: string | undefined
  readonly timeoutMs: number
}

/** Of one process, over both tables. */
const maxSockets = 64

/** @returns a client, or the reason why there is none: no SDK is installed, or no region is configured. */
export async function connect(
  connection: Connection,
  load: () => Promise<unknown> = () => import('@aws-sdk/client-dynamodb'),
): Promise<DynamoDbApi | Refused> {
  const library = await loadClient<DynamoDbLibrary>('@aws-sdk/client-dynamodb', libraryVersion, load)
  if ('refused' in library) return library
  const api = new library.DynamoDB(configOf(connection, process.env))
  try {
    await api.config.region()
    return api
  } catch (cause) {
    api.destroy()
    return {
      refused: 'no_region',
      detail: 'the AWS region of the tables is not configured',
      remedy: 'add "region" to the store, or set AWS_REGION',
      cause,
    }
  }
}

export function configOf(
  { region, endpoint, timeoutMs }: Connection,
  environment: NodeJS.ProcessEnv,
): DynamoDBClientConfig {
  const isLocal = endpoint !== undefined && isLoopback(new URL(endpoint).hostname)
  return {
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined ? { region } : isLocal && !hasRegion(environment) && { region: 'local' }),
    ...(isLocal && !hasCredentials(environment) && { credentials: { ...localCredentials } }),
    // Requests are repeated in requests.ts, which counts them and knows which of them may be repeated.
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: timeoutMs,
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      httpAgent: { keepAlive: true, maxSockets },
      httpsAgent: { keepAlive: true, maxSockets },
      logger: silent,
    },
  }
}

/**
 * DynamoDB Local requires credentials and ignores their values: without them the SDK would query the metadata service
 * of EC2 for a role.
 */
const localCredentials = { accessKeyId: 'local', secretAccessKey: 'local' }

const hasRegion = (environment: NodeJS.ProcessEnv): boolean =>
  Boolean(environment['AWS_REGION'] || environment['AWS_PROFILE'])

const hasCredentials = (environment: NodeJS.ProcessEnv): boolean =>
  Boolean(environment['AWS_ACCESS_KEY_ID'] || environment['AWS_PROFILE'])

/** It would print to the console that all sockets are in use, which a burst of writes is allowed to do. */
const silent = { debug() {}, info() {}, warn() {}, error() {} }
