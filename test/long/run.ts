/**
 * The long run: `npm run test:long`, or `npm run test:long -- FILE …` for a part of it. The differential suite with
 * ten times as many comparisons, and syntax newer than the packaged server, both against a newer Prometheus that is
 * built on the first run (minutes; needs Go). WINDOWPANE_PROMETHEUS_BIN names another one.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { isUnavailable, type Unavailable } from '../servers/availability.ts'
import { findProgram, type Program } from '../servers/debian.ts'
import { buildProgram, newPrometheus } from '../servers/go.ts'
import { programVersion } from '../servers/prometheus.ts'

const variable = 'WINDOWPANE_PROMETHEUS_BIN'
const comparisons = '200000'
const parts = [
  'test/fidelity/fidelity.test.ts',
  'test/fidelity/forms.test.ts',
  'test/fidelity/steps.test.ts',
  'test/fidelity/whole-range.test.ts',
  'test/long/newer-syntax.ts',
  'test/long/own-parser.ts',
  'test/long/strange-queries.ts',
]

const findServer = (): Promise<Program | Unavailable> =>
  process.env[variable] ? findProgram({ package: 'prometheus' }) : buildProgram(newPrometheus)

async function main(patterns: readonly string[]): Promise<number> {
  const program = await findServer()
  if (isUnavailable(program)) {
    process.stderr.write(`no newer Prometheus: ${program.unavailable}\n`)
    return 1
  }
  process.stderr.write(
    `long run with Prometheus ${await programVersion(program.path)}, Node ${process.version}\n`,
  )
  return runTests(patterns, {
    [variable]: program.path,
    WINDOWPANE_COMPARISONS: process.env['WINDOWPANE_COMPARISONS'] || comparisons,
    WINDOWPANE_REPLAY: 'npm run test:long --',
  })
}

function runTests(patterns: readonly string[], environment: Record<string, string>): Promise<number> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../run.ts'), ...patterns], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  })
  process.once('exit', () => child.kill())
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}

const given = process.argv.slice(2)
process.exitCode = await main(given.length > 0 ? given : parts)
