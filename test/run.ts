/**
 * Runs the tests: `npm test [-- pattern …] [--test-name-pattern=…]`. Without a pattern it runs the checks and then all
 * tests. A pattern is a file, a folder, a glob or a part of a path; options of `node --test` are passed on. All tests
 * end with those of the proxy on the lowest Node that is supported (lowest-node.ts). One Prometheus and one Druid with
 * the test data, one Cassandra and one DynamoDB Local, serve all test files that need them. An unavailable server is
 * reported, and its tests skip; under CI=true that fails the run.
 */
import { spawn } from 'node:child_process'
import { systemClock } from '../src/core/clock.ts'
import { fixtureEnvironment, startOwnFixture } from './data/fixture.ts'
import { druidEnvironment, startDruidFixture } from './druid/fixture.ts'
import { filesNamedBy, reaches, root, testFiles } from './selection.ts'
import { isUnavailable, type Unavailable } from './servers/availability.ts'
import { cassandraEnvironment, startCassandraFixture } from './servers/cassandra/fixture.ts'
import { dynamoDbEnvironment, startDynamoDbFixture } from './servers/dynamodb/fixture.ts'

/** Ends a run in which a test file hangs. The longest takes some minutes where nothing else runs. */
const HANG_MINUTES = 45

async function main(args: readonly string[]): Promise<number> {
  const patterns = args.filter((arg) => !arg.startsWith('-'))
  const options = args.filter((arg) => arg.startsWith('-'))
  const all = testFiles()
  const selected = patterns.map((pattern) => filesNamedBy(pattern, all))
  const unmatched = patterns.filter((_, i) => selected[i]!.length === 0)
  if (unmatched.length > 0) {
    process.stderr.write(`no test file matches ${unmatched.join(', ')}\n`)
    return 1
  }
  if (patterns.length > 0) return runFiles([...new Set(selected.flat())], options)
  const code = await runFiles(all, options, run('npm', ['run', '-s', 'check']))
  return code || run(process.execPath, ['test/lowest-node.ts'])
}

/** The servers start while the checks run; without the checks passed no test is run. */
async function runFiles(
  files: readonly string[],
  options: readonly string[],
  checks: Promise<number> = Promise.resolve(0),
): Promise<number> {
  const [servers, failed] = await Promise.all([startServers(files), checks])
  for (const { name, server } of servers) {
    const found = isUnavailable(server) ? `no ${name}: ${server.unavailable}` : `${name} ${server.version}`
    process.stderr.write(`${found}\n`)
  }
  const environment = Object.assign({}, ...servers.map((each) => each.environment))
  const hang = `--test-timeout=${HANG_MINUTES * 60_000}`
  const args = ['--test', '--test-concurrency=2', hang, ...options, ...files]
  const code = failed || (await run(process.execPath, args, environment))
  for (const { server } of servers) if (!isUnavailable(server)) await server.stop()
  const missing = servers.some(({ server }) => isUnavailable(server))
  return missing && process.env['CI'] === 'true' ? 1 : code
}

/** A server for all test files, and the environment by which they find it. */
interface SharedServer {
  readonly name: string
  readonly server: { readonly version: string; stop(): Promise<void> } | Unavailable
  readonly environment: Record<string, string>
}

/** Starts the servers that the files use: a Druid takes half a minute. */
function startServers(files: readonly string[]): Promise<SharedServer[]> {
  return Promise.all([
    ...(reaches('await startFixture()', files) ? [prometheusForAll()] : []),
    ...(reaches('await startDruidFixture()', files) ? [druidForAll()] : []),
    ...(reaches('await startCassandraFixture()', files) ? [cassandraForAll()] : []),
    ...(reaches('await startDynamoDbFixture()', files) ? [dynamoDbForAll()] : []),
  ])
}

async function prometheusForAll(): Promise<SharedServer> {
  const server = await startOwnFixture()
  return { name: 'Prometheus', server, environment: fixtureEnvironment(server) }
}

async function druidForAll(): Promise<SharedServer> {
  const server = await startDruidFixture()
  return { name: 'Druid', server, environment: druidEnvironment(server) }
}

async function cassandraForAll(): Promise<SharedServer> {
  const server = await startCassandraFixture()
  return { name: 'Cassandra', server, environment: cassandraEnvironment(server) }
}

async function dynamoDbForAll(): Promise<SharedServer> {
  const server = await startDynamoDbFixture()
  return { name: 'DynamoDB Local', server, environment: dynamoDbEnvironment(server) }
}

function run(program: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', cwd: root, env: { ...process.env, ...environment } })
  process.once('exit', () => child.kill())
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}

const started = systemClock.elapsed()
process.exitCode = await main(process.argv.slice(2))
process.stderr.write(`total ${((systemClock.elapsed() - started) / 1000).toFixed(1)} s\n`)
