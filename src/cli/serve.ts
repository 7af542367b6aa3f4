/** `windowpane <url>` and `windowpane --config FILE`: what was asked for, and whether it can be started. */
import { type SplitArguments, splitArguments } from '../config/flags.ts'
import { environmentName } from '../config/names.ts'
import { WindowpaneError } from '../core/errors.ts'
import { version } from '../version.ts'
import { type CommandWords, type FlagWords, usageOf } from './command.ts'
import { configFileName, type Io, readConfig } from './config-file.ts'
import { exitCode } from './exit-codes.ts'
import { problemsIn } from './reload.ts'

const ownFlags = { config: 'value', help: 'switch', version: 'switch' } as const

/** Short names for what is set most often. */
const shortFlags: Readonly<Record<string, string>> = {
  memory: 'limits.memory',
  'max-stale': 'limits.max-stale',
  identity: 'backends.main.identity',
  'ttl-floor': 'policies.default.floor',
  'ttl-doubling': 'policies.default.doubling',
  'ttl-cap': 'policies.default.cap',
}

const isolated = 'separate: credentials, cookies and tenants do not share answers'

export const serveWords = {
  name: 'serve',
  summary: 'start the proxy; `serve` itself may be left out',
  synopsis: '<url of the database> | --config FILE [options]',
  examples: [
    'windowpane http://prometheus:9090',
    'windowpane http://druid-router:8888',
    'windowpane http://prometheus:9090 --listen 0.0.0.0:9191 --memory 2GiB',
    'windowpane --config windowpane.yaml',
  ],
  flags: [
    { name: 'config', value: 'FILE', about: 'backends, policies, rules: YAML', env: 'WINDOWPANE_CONFIG' },
    keyFlag('listen', 'HOST:PORT', 'address to listen on; default 127.0.0.1:9191'),
    keyFlag('ttl-floor', 'TIME', 'how long the newest buckets are believed; default 5s'),
    keyFlag('ttl-doubling', 'TIME', 'age after which that doubles, again and again; default 1m'),
    keyFlag('ttl-cap', 'TIME', 'the longest that any bucket is believed; default 1h'),
    keyFlag('max-stale', 'TIME', 'how long beyond that during an outage; default 15m'),
    keyFlag('memory', 'SIZE', 'panes and answers kept in memory; default 512MiB'),
    keyFlag('identity', 'MODE', `${isolated}; shared: everybody may see everything; default separate`),
    { name: 'version', about: 'which version this is' },
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
export async function serve(argv: readonly string[], io: Io): Promise<number | undefined> {
  const split = splitArguments(argv.map(inFull), ownFlags)
  if (split.own.has('help')) return say(io, usageOf(serveWords))
  if (split.own.has('version')) return say(io, `windowpane ${version}\n`)
  if (split.positionals.length > 1) return complain(io, 'expected one URL only', usageOf(serveWords))
  if (isNothingGiven(split, io)) {
    return complain(
      io,
      'the URL of the database is missing, such as http://prometheus:9090 or http://druid-router:8888',
      usageOf(serveWords),
    )
  }
  const loaded = await readConfig(split, io)
  if ('problems' in loaded) return complain(io, problemsIn(loaded))
  try {
    // Commands that only ask need not wait until everything of the proxy is loaded.
    const { start } = await import('./start.ts')
    await start(loaded, split, io)
    return undefined
  } catch (error) {
    if (!(error instanceof WindowpaneError)) throw error
    return complain(io, `${error.message} (${error.code})\n${error.remedy}`)
  }
}

const inFull = (text: string): string =>
  text.replace(/^--([a-z-]+)(?==|$)/, (flag, name: string) =>
    name in shortFlags ? `--${shortFlags[name]}` : flag,
  )

function isNothingGiven(split: SplitArguments, io: Io): boolean {
  if (split.positionals.length > 0 || configFileName(split, io) !== undefined) return false
  const isBackend = (name: string) => /^(WINDOWPANE_BACKENDS(_|$)|backends(\.[^.]+\.url|$))/.test(name)
  return ![...Object.keys(io.env), ...split.flags.map((flag) => flag.name)].some(isBackend)
}

function say(io: Io, text: string): number {
  io.out(text)
  return 0
}

function complain(io: Io, message: string, explanation = ''): number {
  io.err(`windowpane: ${message}\n${explanation === '' ? '' : `\n${explanation}`}`)
  return 2
}
