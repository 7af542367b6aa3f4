/**
 * Runs the tests: `node test/run.ts [file or pattern …]`. One Prometheus with the test data serves all test files.
 * A server that cannot be had is said so, and its tests skip; under CI=true that fails the run.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { systemClock } from '../src/core/clock.ts'
import { fixtureEnvironment, startOwnFixture } from './data/fixture.ts'
import { isUnavailable } from './servers/availability.ts'

const ALL = ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts']

async function main(patterns: readonly string[]): Promise<number> {
  const fixture = await startOwnFixture()
  const missing = isUnavailable(fixture)
  process.stderr.write(
    missing ? `no Prometheus: ${fixture.unavailable}\n` : `Prometheus ${fixture.version}\n`,
  )
  const code = await runTests(patterns, fixtureEnvironment(fixture))
  if (!missing) await fixture.stop()
  return missing && process.env['CI'] === 'true' ? 1 : code
}

function runTests(patterns: readonly string[], environment: Record<string, string>): Promise<number> {
  const child = spawn(process.execPath, ['--test', '--test-concurrency=2', ...patterns], {
    stdio: 'inherit',
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, ...environment },
  })
  process.once('exit', () => child.kill())
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}

const started = systemClock.elapsed()
const given = process.argv.slice(2)
process.exitCode = await main(given.length > 0 ? given : ALL)
process.stderr.write(`total ${((systemClock.elapsed() - started) / 1000).toFixed(1)} s\n`)
