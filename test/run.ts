/**
 * Runs the tests: `node test/run.ts [file or pattern …]`. One Prometheus with the test data serves all test files, and
 * one Druid those in test/druid. A server that cannot be had is said so, and its tests skip; under CI=true that fails
 * the run.
 */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { systemClock } from '../src/core/clock.ts'
import { fixtureEnvironment, startOwnFixture } from './data/fixture.ts'
import { druidEnvironment, startDruidFixture } from './druid/fixture.ts'
import { isUnavailable, type Unavailable } from './servers/availability.ts'

const ALL = ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts']
const ROOT = join(import.meta.dirname, '..')

async function main(patterns: readonly string[]): Promise<number> {
  const servers = await Promise.all([prometheusForAll(), ...(needDruid(patterns) ? [druidForAll()] : [])])
  for (const { name, server } of servers) {
    const found = isUnavailable(server) ? `no ${name}: ${server.unavailable}` : `${name} ${server.version}`
    process.stderr.write(`${found}\n`)
  }
  const code = await runTests(patterns, Object.assign({}, ...servers.map(({ environment }) => environment)))
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

async function prometheusForAll(): Promise<SharedServer> {
  const server = await startOwnFixture()
  return { name: 'Prometheus', server, environment: fixtureEnvironment(server) }
}

async function druidForAll(): Promise<SharedServer> {
  const server = await startDruidFixture()
  return { name: 'Druid', server, environment: druidEnvironment(server) }
}

/** It takes half a minute to start, so it is started only for those who use it. */
function needDruid(patterns: readonly string[]): boolean {
  const files = globSync(patterns, { cwd: ROOT })
  return files.some((file) => relative(ROOT, resolve(ROOT, file)).startsWith(join('test', 'druid')))
}

function runTests(patterns: readonly string[], environment: Record<string, string>): Promise<number> {
  const child = spawn(process.execPath, ['--test', '--test-concurrency=2', ...patterns], {
    stdio: 'inherit',
    cwd: ROOT,
    env: { ...process.env, ...environment },
  })
  process.once('exit', () => child.kill())
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}

const started = systemClock.elapsed()
const given = process.argv.slice(2)
process.exitCode = await main(given.length > 0 ? given : ALL)
process.stderr.write(`total ${((systemClock.elapsed() - started) / 1000).toFixed(1)} s\n`)
