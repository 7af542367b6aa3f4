/**
 * DynamoDB Local for tests: one JVM on a free port of loopback that keeps everything in memory. Region and credentials
 * make no difference to it (`-sharedDb`). It differs from the service in ways that tests must know: it never throttles,
 * leaves no item of a batch unprocessed, has no transaction conflicts, and deletes expired items every ten seconds.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Unavailable } from '../availability.ts'
import { describeToolError, type Jars, mavenJars } from '../maven.ts'
import { type ServerProcess, startServer } from '../process.ts'

const run = promisify(execFile)

const HOW_TO_HAVE = 'install a JDK 17 or later and Maven (Debian: default-jdk-headless maven)'
const MAIN_CLASS = 'software.amazon.dynamodb.services.local.main.ServerRunner'

export interface DynamoDbOptions {
  /** For measurements: the optimising compiler does not pay in a test of seconds. */
  readonly optimised?: boolean
}

/** Where it listens: all that a test needs of a shared one. */
export interface DynamoDbAddress {
  /** Such as http://127.0.0.1:8000. */
  readonly endpoint: string
  readonly version: string
}

/** After restart() it is empty. */
export interface DynamoDb extends DynamoDbAddress, Omit<ServerProcess, 'url'> {}

export async function startDynamoDb(options: DynamoDbOptions = {}): Promise<DynamoDb | Unavailable> {
  const jars = await findJars()
  if ('unavailable' in jars) return jars
  const server = await startServer({
    name: 'dynamodb',
    program: 'java',
    args: ({ port }) => [
      ...jvmFlags(jars, options),
      MAIN_CLASS,
      '-inMemory',
      '-sharedDb',
      '-disableTelemetry',
      '-port',
      String(port),
    ],
  })
  return Object.assign(server, { endpoint: server.url, version: jars.version })
}

async function findJars(): Promise<Jars | Unavailable> {
  try {
    // Maven would fetch for minutes before a missing Java shows.
    await run('java', ['-version'])
    return await mavenJars('dynamodb', join(import.meta.dirname, 'pom.xml'))
  } catch (error) {
    return { unavailable: describeToolError(error, 'DynamoDB Local', HOW_TO_HAVE) }
  }
}

const jvmFlags = ({ folder }: Jars, { optimised = false }: DynamoDbOptions): readonly string[] => [
  '-Xmx256m',
  '-XX:+UseSerialGC',
  ...(optimised ? [] : ['-XX:TieredStopAtLevel=1']),
  // Its SQLite is native code that lies among the jars.
  `-Djava.library.path=${folder}`,
  `-Dsqlite4java.library.path=${folder}`,
  '-cp',
  join(folder, '*'),
]
