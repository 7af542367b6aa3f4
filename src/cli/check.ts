/** `windowpane check`: validates the configuration and its files, shows effective values, and tests connections. */
import { kinds } from '../backends/kinds.ts'
import { adminWarning } from '../config/checks.ts'
import { fileProblems } from '../config/files.ts'
import { type ConfigProblem, describeProblem, type LoadedConfig } from '../config/load.ts'
import { objectWarnings } from '../config/objects-section.ts'
import type { Config } from '../config/schema.ts'
import { storesInUse } from '../config/settings.ts'
import { byDefault, describeSource } from '../config/source.ts'
import { leavesOf, printConfig } from '../config/view.ts'
import { WindowpaneError } from '../core/errors.ts'
import { withoutCredentials } from '../core/url.ts'
import { kindOfStore } from '../stores/kinds.ts'
import { causeOf } from './admin-client.ts'
import { type Command, type CommandIo, type Given, json, Misuse } from './command.ts'
import { readConfig } from './config-file.ts'
import { exitCode } from './exit-codes.ts'
import { counted, oneLine } from './text.ts'

const words = {
  name: 'check',
  summary: 'validate the configuration, show effective values, test connections',
  synopsis: '[url] [--config FILE] [options]',
  examples: [
    'windowpane check --config windowpane.yaml',
    'windowpane check --config windowpane.yaml --print',
    'windowpane check --config windowpane.yaml --connect --limits.max-stale=30m',
  ],
  flags: [
    {
      name: 'config',
      value: 'FILE',
      about: 'the file; default windowpane.yaml of this folder',
      env: 'WINDOWPANE_CONFIG',
    },
    { name: 'print', about: 'every value in force, with where it came from, as a file' },
    { name: 'connect', about: 'query the kind of each database; fail where a server is none' },
    { name: 'json', about: 'for programs' },
  ],
  about: `It also looks for the files and folders that the configuration names, on this machine.`,
  takesKeys: true,
  exits: [exitCode.failed],
} as const

/** Most problems follow from a few; hundreds would not be read. */
const mostShown = 50

async function run(given: Given, io: CommandIo): Promise<number> {
  const { positionals } = given
  if (positionals.length > 1)
    throw new Misuse(`expected one URL, got ${positionals.map(withoutCredentials).join(' ')}`)
  const loaded = await readConfig(given.split, io)
  if ('problems' in loaded) return refuse(loaded.problems, given.has('json'), io)
  const problems = [...(await fileProblems(loaded)), ...(await refusedStores(loaded))]
  const connections = given.has('connect') ? await connectAll(loaded, io) : undefined
  const isOk = problems.length === 0 && (connections ?? []).every((one) => one.ok)
  const warnings = warningsOn(loaded.config)
  if (given.has('json')) {
    const data = {
      ...{ ok: isOk, values: leavesOf(loaded), problems: problems.map(problemData), connections },
      ...(warnings.length > 0 && { warnings }),
    }
    io.out(json(data))
  } else io.out(accepted(loaded, { problems, connections: connections ?? [], warnings }, given.has('print')))
  return isOk ? exitCode.ok : exitCode.failed
}

function refuse(problems: readonly ConfigProblem[], isJson: boolean, io: CommandIo): number {
  if (isJson) io.out(json({ ok: false, problems: problems.map(problemData) }))
  else {
    const shown = problems.slice(0, mostShown).map((problem) => `${describeProblem(problem)}\n`)
    const left = problems.length - shown.length
    const count = `${problems.length} problem${problems.length === 1 ? '' : 's'}`
    io.err(`${shown.join('\n')}\n${count}${left > 0 ? `, ${left} of them not shown` : ''}\n`)
  }
  return exitCode.misused
}

function problemData({ path, source, message, suggestion, frame }: ConfigProblem): object {
  const { kind: _, ...place } = source
  return { source: describeSource(source), ...place, path, message, suggestion, frame }
}

interface Connection {
  readonly backend: string
  readonly url: string
  readonly ok: boolean
  /** Whether anything answers there at all. */
  readonly answers: boolean
  readonly found: string
  /** What to change. */
  readonly remedy?: string
}

async function connectAll({ config }: LoadedConfig, io: CommandIo): Promise<Connection[]> {
  const connect = io.connect ?? (await import('../config/judge.ts')).connect
  const targets = Object.entries(config.backends).flatMap(([name, backend]) =>
    backend.url.map(async (url): Promise<Connection> => {
      const about = { backend: name, url }
      return connect(backend, url).then(
        ({ verdict, found, remedy }) => {
          const ok = verdict === 'known' || verdict === 'uncached'
          return { ...about, ok, answers: true, found, ...(remedy !== undefined && { remedy }) }
        },
        (error: unknown) => ({
          ...{ ...about, ok: false, answers: false, found: causeOf(error) },
          ...(error instanceof WindowpaneError && { remedy: error.remedy }),
        }),
      )
    }),
  )
  return Promise.all(targets)
}

function warningsOn(config: Config): readonly string[] {
  const admin = adminWarning(config)
  return [
    ...(admin === undefined ? [] : [`${admin}; set admin.tokenFile`]),
    ...objectWarnings(config.backends, kinds),
  ]
}

interface CheckFindings {
  readonly problems: readonly ConfigProblem[]
  readonly connections: readonly Connection[]
  readonly warnings: readonly string[]
}

function accepted(loaded: LoadedConfig, looked: CheckFindings, isPrinted: boolean): string {
  const { problems, connections, warnings } = looked
  const lines = [
    ...problems.map(describeProblem),
    ...connections.map(connectionLine),
    ...warnings.map((warning) => `warning: ${warning}`),
    verdictOn(looked),
  ]
  // The printed text can be loaded again: everything else in it is a comment.
  const mark = isPrinted ? '# ' : ''
  return `${isPrinted ? printConfig(loaded) : ''}${lines.map((line) => `${mark}${line}\n`).join('')}`
}

function connectionLine({ backend, url, answers, found, remedy }: Connection): string {
  const what = answers ? found : `no connection: ${found}`
  return `${backend} ${url}: ${oneLine(what)}${remedy === undefined ? '' : `. ${remedy}`}`
}

function verdictOn({ problems, connections }: CheckFindings): string {
  const silent = connections.filter(({ answers }) => !answers).length
  const wrong = connections.filter(({ ok, answers }) => answers && !ok).length
  const all = counted(connections.length, 'database')
  const troubles = [
    ...(problems.length === 0 ? [] : [`${problems.length} of the files that it names cannot be used`]),
    ...(silent === 0 ? [] : [`${silent} of ${all} ${silent === 1 ? 'does' : 'do'} not answer`]),
    ...(wrong === 0 ? [] : [`${wrong} of ${all} cannot be used`]),
  ]
  return troubles.length === 0 ? 'ok' : `the configuration is sound, but ${troubles.join(', ')}`
}

/** Stores that would be refused at the start, as problems of the keys that name their places. */
async function refusedStores({ config, sources }: LoadedConfig): Promise<ConfigProblem[]> {
  const used = storesInUse(config)
  const problems: ConfigProblem[] = []
  for (const [name, store] of Object.entries(config.stores)) {
    const kind = kindOfStore(store)
    const refused = used.has(name) ? await kind.distrust?.(store) : undefined
    if (refused === undefined) continue
    const path = `stores.${name}.${kind.placeOf?.(store).key ?? 'type'}`
    const source = sources.get(path) ?? byDefault
    problems.push({ path, source, message: `${refused.detail} (${refused.refused}); ${refused.remedy}` })
  }
  return problems
}

export const check: Command = { words, run }
