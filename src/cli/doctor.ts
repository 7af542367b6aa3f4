/** `windowpane doctor`: checks configuration, databases, stores and the running proxy, and suggests remedies. */
import { adminWarning } from '../config/checks.ts'
import { fileProblems } from '../config/files.ts'
import { type LoadedConfig, problemLine } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { type Finding, type FindingState, found, states } from '../core/finding.ts'
import { adminFlags, adminOf, findAdmin } from './admin-client.ts'
import { type Command, type CommandIo, type Given, json, Misuse } from './command.ts'
import { configFileName, hasDatabase, readConfig } from './config-file.ts'
import { checkIdentity } from './doctor/identity.ts'
import { checkProxy } from './doctor/proxy.ts'
import { checkStores } from './doctor/stores.ts'
import { exitCode, Failure, orFailure } from './exit-codes.ts'
import { withProgress } from './progress.ts'
import { problemsIn } from './reload.ts'
import { type Colour, painter, withoutControls } from './text.ts'

const words = {
  name: 'doctor',
  summary: 'check configuration, databases, stores and traffic; suggest remedies',
  synopsis: '[url] [--config FILE] [options]',
  examples: [
    'windowpane doctor --config windowpane.yaml',
    'windowpane doctor http://prometheus:9090',
    'windowpane doctor --admin http://cache.example.org:9192 --json',
  ],
  about: `Checks the configuration, the databases and their clocks, the stores, and the
traffic of the running proxy. Every finding is ok, warn, fail or skip, and warnings
and failures have a remedy. It ends with 1 if anything failed.`,
  flags: adminFlags,
  takesKeys: true,
  exits: [exitCode.failed],
} as const

async function run(given: Given, io: CommandIo): Promise<number> {
  if (given.positionals.length > 1) throw new Misuse('expected at most one URL')
  const config = await configOf(given, io)
  const findings = [config.finding]
  if (config.loaded !== undefined) {
    const { config: inForce } = config.loaded
    const { checkDatabases } = await import('./doctor/databases.ts')
    const work = Promise.all([checkDatabases(inForce, io.clock), checkStores(inForce, io.clock)])
    findings.push(...adminFindings(inForce))
    findings.push(...(await withProgress(io, 'asking the databases', work)).flat())
    findings.push(...checkIdentity(inForce))
  }
  findings.push(...(await proxyFindings(given, io, config.loaded)))
  io.out(given.has('json') ? json(reportOf(findings)) : textOf(findings, io))
  return findings.some(({ status }) => status === 'fail') ? exitCode.failed : exitCode.ok
}

interface Examined {
  readonly finding: Finding
  readonly loaded?: LoadedConfig
}

async function configOf(given: Given, io: CommandIo): Promise<Examined> {
  const about = found('configuration')
  const { split } = given
  if (!hasDatabase(split, io)) {
    const remedy = 'Name it with --config FILE, or give the URL of the database.'
    return {
      finding: about.skip('No configuration was named: databases and stores are not checked.', remedy),
    }
  }
  const loaded = await readConfig(split, io)
  if ('problems' in loaded) {
    const sentence = `It cannot be used:\n${problemsIn(loaded)}`
    return { finding: about.fail(sentence, 'Mend it; windowpane check shows the same.') }
  }
  const missing = await fileProblems(loaded)
  if (missing.length > 0) {
    const sentence = `It names files that cannot be used:\n${missing.map(problemLine).join('\n')}`
    return { finding: about.fail(sentence, 'Put them there, or let this user read them.'), loaded }
  }
  return { finding: about.ok(`${configFileName(split, io) ?? 'The configuration'} can be used.`), loaded }
}

function adminFindings(config: Config): Finding[] {
  const warning = adminWarning(config)
  if (warning === undefined) return []
  const sentence = `${warning[0]!.toUpperCase()}${warning.slice(1)}.`
  return [found('admin').warn(sentence, 'Set admin.tokenFile, or let it listen on 127.0.0.1.')]
}

async function proxyFindings(
  given: Given,
  io: CommandIo,
  loaded: LoadedConfig | undefined,
): Promise<Finding[]> {
  const about = found('proxy')
  const admin = await orFailure(
    loaded === undefined ? findAdmin(given, io) : adminOf(loaded.config.admin, given, io),
  )
  if (admin instanceof Failure) return [about.skip(admin.message, admin.remedy)]
  const findings = await checkProxy(admin)
  if (findings !== undefined) return findings
  const sentence = `No proxy answers at ${admin.url}.`
  const remedy = 'Start it, or name its admin listener with --admin URL.'
  return [given.has('admin') ? about.fail(sentence, remedy) : about.skip(sentence, remedy)]
}

const countsOf = (findings: readonly Finding[]): Record<FindingState, number> =>
  Object.fromEntries(
    states.map((state) => [state, findings.filter(({ status }) => status === state).length]),
  ) as Record<FindingState, number>

const reportOf = (findings: readonly Finding[]): object => ({
  ok: findings.every(({ status }) => status !== 'fail'),
  counts: countsOf(findings),
  findings,
})

const colours: Readonly<Record<FindingState, Colour>> = {
  ok: 'green',
  warn: 'yellow',
  fail: 'red',
  skip: 'grey',
}

function textOf(findings: readonly Finding[], io: CommandIo): string {
  const paint = painter(io)
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.flatMap(({ check, status, sentence, remedy }) => {
    const [first = '', ...rest] = withoutControls(sentence).split('\n')
    const below = ' '.repeat(6 + width + 2)
    return [
      `${paint(status.padEnd(4), colours[status])}  ${check.padEnd(width)}  ${first}`,
      ...rest.map((line) => `${below}${line}`.trimEnd()),
      ...(remedy === undefined ? [] : [`${below}→ ${remedy}`]),
    ]
  })
  const counts = Object.entries(countsOf(findings)).map(([state, count]) => `${count} ${state}`)
  return `${lines.join('\n')}\n\n${counts.join(', ')}\n`
}

export const doctor: Command = { words, run }
