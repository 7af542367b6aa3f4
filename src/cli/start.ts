/** Starting the proxy from its configuration: server, telemetry, admin listener, reloads, and the end on a signal. */
import { detectKinds } from '../config/detect.ts'
import type { SplitArguments } from '../config/flags.ts'
import type { Config } from '../config/schema.ts'
import { databasesOf, settingsOf } from '../config/settings.ts'
import { openTraces, type Traces } from '../config/traces.ts'
import { systemClock } from '../core/clock.ts'
import type { Admin } from '../proxy/admin/admin.ts'
import { type ProxyServer, startServer } from '../proxy/assembly/server.ts'
import { toStream } from '../telemetry/log.ts'
import { type ThreadFigures, watchProcess, withThreads } from '../telemetry/process-figures.ts'
import type { WatchedSegments } from '../telemetry/segment-families.ts'
import { Telemetry } from '../telemetry/telemetry.ts'
import { version } from '../version.ts'
import { type RunningWorkerPool, startWorkerPool } from '../workers/main-thread.ts'
import { openAdmin } from './admin.ts'
import { arrivalLines } from './arrival.ts'
import { tameCollector } from './collections.ts'
import { configFileName, type Io, type ReadConfig, readConfig } from './config-file.ts'
import { Reloads } from './reload.ts'
import { openFarStores } from './stores.ts'
import { watchFile } from './watch-file.ts'

export async function start(first: ReadConfig, split: SplitArguments, io: Io): Promise<void> {
  const { config } = first
  const { cert, key } = config.tls
  let loaded = first
  let settings = settingsOf(config)
  let server: ProxyServer | undefined
  let pool: RunningWorkerPool | undefined
  let traces: Traces | undefined
  const telemetry = telemetryOf({
    config: () => loaded.config,
    server: () => server,
    spans: () => pool?.spans ?? traces?.figures,
    threads: () => pool?.threads ?? [],
  })
  const kinds = await detectKinds(config, systemClock)
  const kindOf = (name: string) => kinds.get(name)!.kind
  pool = await startWorkerPool({ config, kinds, given: () => loaded.given, telemetry })
  if (config.runtime.gcTuning) tameCollector(pool === undefined ? config.limits.memoryBytes : undefined)
  // Where workers serve the requests, they trace them too.
  if (pool === undefined) traces = openTraces(config, telemetry)
  server = await startServer({
    listen: config.listen,
    limits: config.limits,
    runtime: config.runtime,
    clock: systemClock,
    telemetry,
    sampleRatio: () => loaded.config.telemetry.traces.sampleRatio,
    databases: await databasesOf(config, { kindOf, settings: () => settings }),
    farStores: await openFarStores(config, io),
    ...(cert !== undefined && key !== undefined && { tls: { cert, key } }),
    ...pool?.server,
  })
  const reloads = new Reloads({
    clock: systemClock,
    loaded: () => loaded,
    read: () => readConfig(split, io),
    apply: async (fresh) => {
      loaded = fresh
      settings = settingsOf(fresh.config)
      await pool?.applyConfig(fresh.given)
    },
    report: (isOk, sentence) => {
      telemetry.noteReload(isOk, isOk ? undefined : sentence)
      io.err(`windowpane: ${isOk ? '' : 'the new configuration is refused: '}${sentence}\n`)
    },
  })
  const admin = await openAdmin({ server, telemetry, loaded: () => loaded, reloads, kindOf })
  stopOnSignal(server, admin, traces)
  process.on('SIGHUP', () => void reloads.run())
  const file = configFileName(split, io)
  if (file !== undefined) watchFile(file, () => void reloads.run())
  const arrived = { config, kinds, databases: server.databases, adminUrl: admin?.url }
  for (const line of arrivalLines(arrived)) io.out(`${line}\n`)
}

interface Watched {
  readonly config: () => Config
  readonly server: () => ProxyServer | undefined
  readonly spans: () => Pick<Traces['figures'], 'sent' | 'dropped'> | undefined
  readonly threads: () => readonly ThreadFigures[]
}

function telemetryOf({ config, server, spans, threads }: Watched): Telemetry {
  const sum = (of: 'flights' | 'requests') =>
    server()?.databases.reduce((total, database) => total + database.figures()[of], 0) ?? 0
  const watch = watchProcess(systemClock)
  const sources = {
    stores: () => server()?.stores() ?? [],
    memory: () => server()?.memory ?? { used: 0, limit: 0 },
    flights: () => sum('flights'),
    requestsInFlight: () => sum('requests'),
    segments: () => watchedSegments(server()?.databases ?? []),
    traces: spans,
    process: () => withThreads(watch.read(), threads()),
  }
  const log = {
    level: () => config().telemetry.logLevel,
    format: () => config().telemetry.logFormat,
    write: toStream(process.stderr),
  }
  return new Telemetry({ clock: systemClock, version, log, sources })
}

const watchedSegments = (databases: ProxyServer['databases']): WatchedSegments[] =>
  databases.flatMap(({ name, segments }) =>
    segments === undefined ? [] : [{ backend: name, ...segments, ageSeconds: segments.ageMs / 1000 }],
  )

/** The first signal drains; a second one does not wait. */
function stopOnSignal(server: ProxyServer, admin: Admin | undefined, traces: Traces | undefined): void {
  let isStopping = false
  const stop = () => {
    if (isStopping) process.exit(1)
    isStopping = true
    void Promise.all([admin?.close(), server.close()])
      .then(() => traces?.close())
      .then(() => process.exit(0))
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
