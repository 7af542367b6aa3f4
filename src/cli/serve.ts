/** `windowpane <url>` and `windowpane --config FILE`: starts the proxy, reloads, drains on SIGTERM. */
import { stat } from 'node:fs/promises'
import { type Change, diffConfig } from '../config/diff.ts'
import { type SplitArguments, splitArguments } from '../config/flags.ts'
import { describeProblem, type LoadedConfig, type RefusedConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import type { Admin, ReloadReport } from '../proxy/admin.ts'
import { type House, startHouse } from '../proxy/server.ts'
import { toStream } from '../telemetry/log.ts'
import { watchProcess } from '../telemetry/process-figures.ts'
import { Telemetry } from '../telemetry/telemetry.ts'
import { version } from '../version.ts'
import { openAdmin } from './admin.ts'
import { configFileName, type Io, readConfig } from './config-file.ts'
import { databasesOf, settingsOf } from './settings.ts'
import { openFarStores } from './stores.ts'
import { usage } from './usage.ts'

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

/** Resolves to an exit code, or to undefined while the proxy runs. */
export async function serve(argv: readonly string[], io: Io): Promise<number | undefined> {
  const split = splitArguments(argv.map(inFull), ownFlags)
  if (split.own.has('help')) return say(io, usage)
  if (split.own.has('version')) return say(io, `windowpane ${version}\n`)
  if (split.positionals.length > 1) return complain(io, 'expected one URL only', usage)
  if (isNothingGiven(split, io)) {
    return complain(io, 'the URL of the database is missing, such as http://prometheus:9090', usage)
  }
  const loaded = await readConfig(split, io)
  if ('problems' in loaded) return complain(io, problemsIn(loaded))
  try {
    await run(loaded, split, io)
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
  const isBackend = (name: string) => /^(WINDOWPANE_BACKENDS_|backends\.[^.]+\.url)/.test(name)
  return ![...Object.keys(io.env), ...split.flags.map((flag) => flag.name)].some(isBackend)
}

async function run(first: LoadedConfig, split: SplitArguments, io: Io): Promise<void> {
  const { config } = first
  const { cert, key } = config.tls
  let loaded = first
  let settings = settingsOf(config)
  let house: House | undefined
  const telemetry = telemetryOf(
    () => loaded.config,
    () => house,
  )
  house = await startHouse({
    listen: config.listen,
    limits: config.limits,
    clock: systemClock,
    telemetry,
    databases: databasesOf(config, () => settings),
    farStores: await openFarStores(config, io),
    ...(cert !== undefined && key !== undefined && { tls: { cert, key } }),
  })
  const reload = async (): Promise<ReloadReport> => {
    const fresh = await readConfig(split, io)
    const refusal = refusalOf(loaded.config, fresh)
    if (refusal === undefined && 'config' in fresh) {
      loaded = fresh
      settings = settingsOf(fresh.config)
    }
    telemetry.noteReload(refusal === undefined, refusal)
    const message = refusal ?? 'the configuration was reloaded'
    io.err(`windowpane: ${refusal === undefined ? '' : 'the new configuration is refused: '}${message}\n`)
    return { isOk: refusal === undefined, message }
  }
  const admin = await openAdmin({ house, telemetry, loaded: () => loaded, reload })
  stopOnSignal(house, admin)
  process.on('SIGHUP', () => void reload())
  watch(configFileName(split, io), () => void reload())
  for (const database of house.databases) io.out(`${readyLine(config, database)}\n`)
}

function telemetryOf(config: () => Config, house: () => House | undefined): Telemetry {
  const sum = (of: (site: House['databases'][number]['site']) => number) =>
    house()?.databases.reduce((total, { site }) => total + of(site), 0) ?? 0
  const watch = watchProcess(systemClock)
  const sources = {
    memory: () => house()?.memory ?? { used: 0, limit: 0 },
    flights: () => sum((site) => site.flights),
    requestsInFlight: () => sum((site) => site.handler.inFlight),
    process: () => watch.read(),
  }
  const log = {
    level: () => config().telemetry.logLevel,
    format: () => config().telemetry.logFormat,
    write: toStream(process.stderr),
  }
  return new Telemetry({ clock: systemClock, version, log, sources })
}

/** Why a configuration cannot take the place of the one in force. */
function refusalOf(inForce: Config, fresh: LoadedConfig | RefusedConfig): string | undefined {
  return 'problems' in fresh ? problemsIn(fresh) : restartNeeded(diffConfig(inForce, fresh.config))
}

/** A change that cannot be applied at run time must not be half applied. */
function restartNeeded(changes: readonly Change[]): string | undefined {
  const fixed = changes.filter(({ apply, kind, path }) => {
    const isWholeBackend = kind !== 'changed' && /^backends\.[^.]+$/.test(path)
    return apply === 'restart' || isWholeBackend
  })
  if (fixed.length === 0) return undefined
  return `these changes need a restart: ${fixed.map(({ path }) => path).join(', ')}`
}

const pollMs = 2_000

/** By looking, not by events of the file system: those differ between systems and miss replaced files. */
function watch(file: string | undefined, changed: () => void): void {
  if (file === undefined) return
  let seen: number | undefined
  const look = async () => {
    const time = await stat(file).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    )
    if (seen !== undefined && time !== undefined && time !== seen) changed()
    seen = time ?? seen
    systemClock.after(pollMs, () => void look())
  }
  void look()
}

function readyLine(config: Config, { name, url, flavour }: House['databases'][number]): string {
  const backend = config.backends[name]!
  const state = flavour.isKnown
    ? flavour.label
    : `${flavour.label}: requests are passed on uncached until it is known to be Prometheus`
  const path = backend.route.path === undefined ? '' : backend.route.path
  return `windowpane ${version} is ready: ${url}${path} → ${new URL(backend.url[0]!).href} (${state})`
}

/** The first signal drains; a second one does not wait. */
function stopOnSignal(house: House, admin: Admin | undefined): void {
  let isStopping = false
  const stop = () => {
    if (isStopping) process.exit(1)
    isStopping = true
    void Promise.all([admin?.close(), house.close()]).then(() => process.exit(0))
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

const problemsIn = ({ problems }: RefusedConfig): string => problems.map(describeProblem).join('\n\n')

function say(io: Io, text: string): number {
  io.out(text)
  return 0
}

function complain(io: Io, message: string, explanation = ''): number {
  io.err(`windowpane: ${message}\n${explanation === '' ? '' : `\n${explanation}`}`)
  return 2
}
