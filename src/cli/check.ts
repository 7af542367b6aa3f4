/** `windowpane check`: says whether a configuration can be used, what is in force and why, and what answers. */
import { adminWarning } from '../config/checks.ts'
import { splitArguments } from '../config/flags.ts'
import { type ConfigProblem, describeProblem, type LoadedConfig } from '../config/load.ts'
import type { Connector } from '../config/probe.ts'
import { describeSource } from '../config/source.ts'
import { leavesOf, printConfig } from '../config/view.ts'
import { withoutCredentials } from '../core/url.ts'
import { causeOf } from './admin-client.ts'
import { type CommandWords, json, misuse, usageOf } from './command.ts'
import { type Io, readConfig } from './config-file.ts'
import { exitCode } from './exit-codes.ts'

export interface CheckIo extends Io {
  /** Instead of asking over the network. */
  readonly connect?: Connector
}

export const checkWords = {
  name: 'check',
  summary: 'can a configuration be used, what is in force, who answers',
  synopsis: '[url] [--config FILE] [options]',
  examples: [
    'windowpane check --config windowpane.yaml',
    'windowpane check --config windowpane.yaml --print',
    'windowpane check --config windowpane.yaml --connect --limits.max-stale=30m',
  ],
  flags: [
    { name: 'config', value: 'FILE', about: 'the file; without it there is none', env: 'WINDOWPANE_CONFIG' },
    { name: 'print', about: 'every value in force, with where it came from, as a file' },
    { name: 'connect', about: 'ask each database what it is' },
    { name: 'json', about: 'for programs' },
  ],
  takesKeys: true,
  exits: [exitCode.failed],
} as const satisfies CommandWords

const ownFlags = {
  config: 'value',
  print: 'switch',
  json: 'switch',
  connect: 'switch',
  help: 'switch',
} as const

/** Most problems follow from a few; nobody reads hundreds. */
const mostShown = 50

export async function check(argv: readonly string[], io: CheckIo): Promise<number> {
  const { own, flags, positionals } = splitArguments(argv, ownFlags)
  if (own.has('help')) return say(io, usageOf(checkWords))
  const misused = (message: string) => misuse(checkWords, message, io)
  if (positionals.length > 1)
    return misused(`expected one URL, got ${positionals.map(withoutCredentials).join(' ')}`)
  if (own.has('config') && !own.get('config')) return misused('--config needs the name of a file')
  const loaded = await readConfig({ own, flags, positionals }, io)
  if ('problems' in loaded) return refuse(loaded.problems, own.has('json'), io)
  const found = own.has('connect')
    ? await connectAll(loaded, io.connect ?? (await import('../config/probe.ts')).probe)
    : []
  const isOk = found.every((one) => one.ok)
  const warning = adminWarning(loaded.config)
  if (own.has('json'))
    say(
      io,
      json({
        ok: isOk,
        values: leavesOf(loaded),
        ...(warning !== undefined && { warnings: [warning] }),
        ...(own.has('connect') && { connections: found }),
      }),
    )
  else say(io, accepted(loaded, found, own.has('print')))
  return isOk ? 0 : 1
}

function refuse(problems: readonly ConfigProblem[], isJson: boolean, io: CheckIo): number {
  if (isJson) {
    say(io, json({ ok: false, problems: problems.map(problemData) }))
    return 2
  }
  const shown = problems.slice(0, mostShown).map((problem) => `${describeProblem(problem)}\n`)
  const left = problems.length - shown.length
  const count = `${problems.length} problem${problems.length === 1 ? '' : 's'}`
  return complain(io, `${shown.join('\n')}\n${count}${left > 0 ? `, ${left} of them not shown` : ''}\n`)
}

function problemData({ path, source, message, suggestion, frame }: ConfigProblem): object {
  const { kind: _, ...place } = source
  return { source: describeSource(source), ...place, path, message, suggestion, frame }
}

interface Connection {
  readonly backend: string
  readonly url: string
  readonly ok: boolean
  readonly found: string
}

function connectAll({ config }: LoadedConfig, connect: Connector): Promise<Connection[]> {
  const targets = Object.entries(config.backends).flatMap(([name, backend]) =>
    backend.url.map(async (url): Promise<Connection> => {
      const about = { backend: name, url }
      return connect(backend, url).then(
        (found) => ({ ...about, ok: true, found }),
        (error: unknown) => ({ ...about, ok: false, found: causeOf(error) }),
      )
    }),
  )
  return Promise.all(targets)
}

function accepted(loaded: LoadedConfig, found: readonly Connection[], isPrinted: boolean): string {
  // What is printed can be loaded again: everything else in it is a comment.
  const mark = isPrinted ? '# ' : ''
  const lines = found.map(
    ({ backend, url, ok, found: what }) =>
      `${mark}${backend} ${url}: ${ok ? what : `no connection: ${what}`}\n`,
  )
  const warning = adminWarning(loaded.config)
  if (warning !== undefined) lines.push(`${mark}warning: ${warning}; set admin.tokenFile\n`)
  return `${isPrinted ? printConfig(loaded) : ''}${lines.join('')}${mark}${verdictOn(found)}\n`
}

function verdictOn(found: readonly Connection[]): string {
  const silent = found.filter(({ ok }) => !ok).length
  if (silent === 0) return 'ok'
  const databases = `${silent} of ${found.length} ${found.length === 1 ? 'database' : 'databases'}`
  return `the configuration can be used; ${databases} ${silent === 1 ? 'does' : 'do'} not answer`
}

function say(io: CheckIo, text: string): number {
  io.out(text)
  return 0
}

function complain(io: CheckIo, text: string): number {
  io.err(text)
  return 2
}
