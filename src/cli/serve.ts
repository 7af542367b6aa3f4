/**
 * `windowpane <url>` and `windowpane --config FILE`: reads the arguments and the configuration, and starts the proxy.
 */
import { shortFlags, splitArguments } from '../config/flags.ts'
import { type LoadedConfig, problemLine, type RefusedConfig } from '../config/load.ts'
import { environmentName } from '../config/names.ts'
import { WindowpaneError } from '../core/errors.ts'
import { Log, type LogFormat } from '../telemetry/log.ts'
import { version } from '../version.ts'
import { type CommandIo, type CommandWords, type FlagWords, usageOf } from './command.ts'
import { hasDatabase, type Io, readConfig, usualConfigFile } from './config-file.ts'
import { exitCode } from './exit-codes.ts'
import { logFormatOf } from './log-format.ts'
import { problemsIn } from './reload.ts'
import { versionLine } from './version.ts'

const ownFlags = { config: 'value', help: 'switch', version: 'switch' } as const

const isolated = 'separate: credentials, cookies and tenants do not share answers'

export const serveWords = {
  name: 'serve',
  summary: 'start the proxy; the word `serve` is optional',
  synopsis: '[<url of the database> | --config FILE] [options]',
  examples: [
    'windowpane http://prometheus:9090',
    'windowpane http://druid-router:8888',
    'windowpane http://prometheus:9090 --listen 0.0.0.0:9191 --memory 2GiB',
    'windowpane --config windowpane.yaml',
  ],
  flags: [
    {
      name: 'config',
      value: 'FILE',
      about: 'backends, policies, rules: YAML; default windowpane.yaml of this folder, if no URL is given',
      env: 'WINDOWPANE_CONFIG',
    },
    keyFlag('listen', 'HOST:PORT', 'address to listen on; default 127.0.0.1:9191'),
    keyFlag('staleness', 'SHARE', 'learn TTLs: of the buckets shown, 1% may be out of date; off by default'),
    keyFlag('ttl-floor', 'TIME', 'TTL of the newest buckets; default 5s'),
    keyFlag('ttl-doubling', 'TIME', 'the TTL doubles with every such step of age; default 1m'),
    keyFlag('ttl-cap', 'TIME', 'the longest TTL of any bucket; default 1h'),
    keyFlag('max-stale', 'TIME', 'how long expired buckets are served in an outage; default 15m'),
    keyFlag('memory', 'SIZE', 'memory for cached data and responses; default 512MiB'),
    keyFlag('identity', 'MODE', `${isolated}; shared: everybody may see everything; default separate`),
    { name: 'version', about: 'print the version' },
  ],
  takesKeys: true,
  exits: [exitCode.failed],
} as const satisfies CommandWords

/** A flag that is short for a key has its variable and its key shown. */
function keyFlag(name: string, value: string, about: string): FlagWords {
  const flag = shortFlags[name] ?? name
  const key = flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return { name, value, about, env: environmentName(key), key }
}

/** Resolves to an exit code, or to undefined while the proxy runs. */
export async function serve(argv: readonly string[], io: CommandIo): Promise<number | undefined> {
  const split = splitArguments(argv, ownFlags)
  if (split.own.has('help') || split.own.has('version')) {
    io.out(split.own.has('help') ? usageOf(serveWords) : versionLine)
    return exitCode.ok
  }
  if (split.positionals.length > 1) return misuse(io, 'expected one URL only')
  if (!hasDatabase(split, io)) {
    const example = 'such as http://prometheus:9090 or http://druid-router:8888'
    const file = `and there is no ${usualConfigFile} here`
    return misuse(io, `the URL of the database is missing, ${example}, ${file}`)
  }
  const loaded = await readConfig(split, io)
  if ('problems' in loaded) return refuse(loaded, io)
  try {
    // Commands that only query a proxy need not load all of it.
    const { start } = await import('./start.ts')
    await start(loaded, split, io)
    return undefined
  } catch (error) {
    if (!(error instanceof WindowpaneError)) throw error
    return giveUp(error, loaded, io)
  }
}

/** People at a terminal see each problem with its lines of the file; whatever else reads stderr gets one log line per problem. */
function refuse(refused: RefusedConfig, io: CommandIo): number {
  if (io.isErrTerminal) io.err(`windowpane: ${problemsIn(refused)}\n`)
  else {
    const log = startLog('json', io)
    for (const { frame, ...problem } of refused.problems) {
      log.line('error', `cannot start: ${problemLine(problem)}`, { version, frame })
    }
  }
  return exitCode.misused
}

function giveUp({ message, code, remedy }: WindowpaneError, { config }: LoadedConfig, io: CommandIo): number {
  startLog(logFormatOf(config, io), io).line('error', `cannot start: ${message} (${code})`, {
    version,
    remedy,
  })
  return exitCode.misused
}

/** A proxy that does not start logs that at every log level. */
const startLog = (format: LogFormat, { clock, err }: CommandIo): Log =>
  new Log({
    clock,
    level: () => 'error',
    format: () => format,
    write(line) {
      err(line)
      return true
    },
  })

/** Whether a proxy without arguments knows its databases: from ./windowpane.yaml or the environment. */
export const isConfigured = (io: Io): boolean =>
  hasDatabase({ own: new Map(), flags: [], positionals: [] }, io)

function misuse(io: Io, message: string): number {
  io.err(`windowpane: ${message}\n\n${usageOf(serveWords)}`)
  return exitCode.misused
}
