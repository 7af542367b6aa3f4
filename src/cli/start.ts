/** Starting the proxy from its configuration: server, telemetry, admin listener, reloads, and the end on a signal. */
import { detectKinds } from '../config/detect.ts'
import type { SplitArguments } from '../config/flags.ts'
import type { Config } from '../config/schema.ts'
import { databasesOf } from '../config/settings.ts'
import { openTraces, type Traces } from '../config/traces.ts'
import { systemClock } from '../core/clock.ts'
import { socketPathOf } from '../core/socket-address.ts'
import { noLeases } from '../engine/cell-claims.ts'
import type { Admin } from '../proxy/admin/admin.ts'
import type { DatabaseState } from '../proxy/assembly/database-state.ts'
import { type ProxyServer, startServer } from '../proxy/assembly/server.ts'
import { Fleet } from '../proxy/fleet/fleet.ts'
import { type LogFormat, logWarnings, toStream } from '../telemetry/log.ts'
import { type ThreadFigures, watchProcess, withThreads } from '../telemetry/process-figures.ts'
import type { QuotaFigures } from '../telemetry/quota-families.ts'
import type { FleetFigures, UpstreamHealth, WatchedSegments } from '../telemetry/source-families.ts'
import type { LearnedFigures } from '../telemetry/staleness-families.ts'
import { Telemetry } from '../telemetry/telemetry.ts'
import { version } from '../version.ts'
import { type RunningWorkerPool, startWorkerPool } from '../workers/main-thread.ts'
import { workersOf } from '../workers/shares.ts'
import { openAdmin } from './admin.ts'
import { type Arrived, type ArrivedDatabase, arrivalLines, placeOf } from './arrival.ts'
import type { CommandIo } from './command.ts'
import { configFileName, type ReadConfig, readConfig } from './config-file.ts'
import { tuneGarbageCollection } from './gc-tuning.ts'
import { InForce } from './in-force.ts'
import { LifeLog } from './life-log.ts'
import { logFormatOf } from './log-format.ts'
import { Reloads, watchFile } from './reload.ts'
import { notifyServiceManager } from './service-manager.ts'
import { openFarStores } from './stores.ts'
import { ThisNode } from './this-node.ts'

export async function start(first: ReadConfig, split: SplitArguments, io: CommandIo): Promise<void> {
  const { config } = first
  const { cert, key } = config.tls
  let server: ProxyServer | undefined
  let pool: RunningWorkerPool | undefined
  let traces: Traces | undefined
  let fleet: Fleet | undefined
  const telemetry = telemetryOf({
    config: () => inForce.loaded.config,
    format: () => logFormatOf(inForce.loaded.config, io),
    server: () => server,
    fleet: () => fleet?.figures(),
    spans: () => pool?.spans ?? traces?.figures,
    threads: () => pool?.threads ?? [],
  })
  const { log } = telemetry
  const inForce: InForce = new InForce(first, log)
  const loaded = () => inForce.loaded
  const settings = () => inForce.settings
  logWarnings(log)
  const file = configFileName(split, io)
  const configuration = file ?? 'flags'
  const life = new LifeLog(telemetry, configuration)
  const kinds = await detectKinds(config, systemClock)
  inForce.kinds = kinds
  const kindOf = (name: string) => inForce.kinds.get(name)!.kind
  pool = await startWorkerPool({ served: { config, kinds, given: first.given }, telemetry })
  if (config.runtime.gcTuning) tuneGarbageCollection(config.limits.memoryBytes, pool !== undefined)
  // Where workers serve the requests, they trace them too.
  if (pool === undefined) traces = openTraces(config, telemetry)
  server = await startServer({
    listen: config.listen,
    limits: config.limits,
    quotaStore: config.quotas.store,
    runtime: config.runtime,
    clock: systemClock,
    telemetry,
    sampleRatio: () => loaded().config.telemetry.traces.sampleRatio,
    databases: await databasesOf(config, { kindOf, settings }),
    farStores: await openFarStores(config, { settings, config: () => loaded().config, log }),
    ...(cert !== undefined && key !== undefined && { tls: { cert, key } }),
    ...pool?.server,
    parts: { ...pool?.server.parts, beforeStoresClose: async () => fleet?.close() },
  })
  const serving = server
  const node = new ThisNode({ config, server, telemetry })
  fleet = new Fleet({
    clock: systemClock,
    get stores() {
      return serving.sharedStores
    },
    facts: () => node.facts(),
    summary: () => node.summary(),
  })
  const reloads = new Reloads({
    clock: systemClock,
    loaded,
    read: () => readConfig(split, io),
    apply: async (fresh) => {
      await inForce.change(fresh, { server: serving, pool })
      // A store that nodes share may be the first one.
      void fleet?.start()
    },
    onReload: (report, changes) => {
      telemetry.metrics.noteReload(report.isOk)
      life.reloaded(report, changes)
    },
  })
  const running = { server, telemetry, loaded, reloads, configuration, kindOf, fleet }
  const admin = await openAdmin(running)
  // A unix socket means nothing to other nodes.
  node.admin =
    admin !== undefined && 'url' in admin && socketPathOf(admin.url) === undefined ? admin.url : undefined
  void fleet.start()
  endInOrder({ server, admin: admin && 'close' in admin ? admin : undefined, traces, life })
  process.on('SIGHUP', () => void reloads.run())
  if (file !== undefined) watchFile(file, () => void reloads.run())
  const workers = pool === undefined ? 1 : workersOf(config)
  notifyServiceManager('ready', (detail) => log.line('warn', 'systemd could not be notified', { detail }))
  announce({ config, kinds, databases: server.databases.map(arrivedOf), admin }, { life, io, workers })
}

const arrivedOf = ({ name, url, flavour, modes, backendRuntime }: DatabaseState): ArrivedDatabase => ({
  ...{ name, url, flavour, mode: modes.state.mode },
  isReady: backendRuntime.isReady(),
})

interface Announcing {
  readonly life: LifeLog
  readonly io: CommandIo
  readonly workers: number
}

function announce(arrived: Arrived, { life, io, workers }: Announcing): void {
  const { databases, admin } = arrived
  const common = {
    ...{ databases: databases.length, workers },
    ...(admin !== undefined && 'url' in admin && { admin: pagesAt(admin.url) }),
  }
  for (const database of databases) {
    const { address: url, target, state } = placeOf(arrived, database)
    life.listening({ backend: database.name, url, database: target, state, ...common })
  }
  for (const line of arrivalLines(arrived)) io.out(`${line}\n`)
}

const pagesAt = (url: string): string => (socketPathOf(url) === undefined ? `${url}/-/` : url)

interface Watched {
  readonly config: () => Config
  readonly format: () => LogFormat
  readonly server: () => ProxyServer | undefined
  readonly fleet: () => FleetFigures | undefined
  readonly spans: () => Pick<Traces['figures'], 'sent' | 'dropped'> | undefined
  readonly threads: () => readonly ThreadFigures[]
}

function telemetryOf({ config, format, server, fleet, spans, threads }: Watched): Telemetry {
  const sum = (of: 'flights' | 'requests') =>
    server()?.databases.reduce((total, database) => total + database.figures()[of], 0) ?? 0
  const read = watchProcess(systemClock)
  const sources = {
    stores: () => server()?.stores() ?? [],
    leases: () => server()?.leases() ?? noLeases,
    memory: () => server()?.memory ?? { used: 0, limit: 0 },
    flights: () => sum('flights'),
    requestsInFlight: () => sum('requests'),
    upstreams: () => upstreamHealth(server()?.databases ?? []),
    segments: () => watchedSegments(server()?.databases ?? []),
    learned: () => learnedFigures(server()?.databases ?? []),
    quotas: () => quotaFigures(server()?.databases ?? []),
    fleet,
    traces: spans,
    process: () => withThreads(read(), threads()),
  }
  const log = {
    level: () => config().telemetry.logLevel,
    format,
    write: toStream(process.stderr),
  }
  return new Telemetry({ clock: systemClock, version, log, sources })
}

const watchedSegments = (databases: ProxyServer['databases']): WatchedSegments[] =>
  databases.flatMap(({ name, segments }) =>
    segments === undefined ? [] : [{ backend: name, ...segments, ageSeconds: segments.ageMs / 1000 }],
  )

const upstreamHealth = (databases: ProxyServer['databases']): UpstreamHealth[] =>
  databases.flatMap(({ name, figures }) =>
    figures().upstreams.map(({ url, healthy }) => ({ backend: name, url, isHealthy: healthy })),
  )

const quotaFigures = (databases: ProxyServer['databases']): QuotaFigures[] =>
  databases.map(({ name, figures }) => {
    const { queue, quota } = figures()
    return { backend: name, queue, quota }
  })

const learnedFigures = (databases: ProxyServer['databases']): LearnedFigures[] =>
  databases.flatMap(({ name, backendRuntime, figures }) => {
    const staleness = backendRuntime.staleness()
    if (staleness === undefined) return []
    const counts = backendRuntime.learning.counts()
    return [{ backend: name, ...staleness, ...counts, probes: figures().background }]
  })

interface RunningParts {
  readonly server: ProxyServer
  readonly admin: Admin | undefined
  readonly traces: Traces | undefined
  readonly life: LifeLog
}

/** The first signal drains; a second one does not wait. An uncaught exception ends the process, as Node would. */
function endInOrder({ server, admin, traces, life }: RunningParts): void {
  let isStopping = false
  const stop = (signal: NodeJS.Signals) => {
    const requestsInFlight = server.databases.reduce((sum, { figures }) => sum + figures().requests, 0)
    if (isStopping) {
      life.ended('warn', { signal, detail: 'a second signal does not wait', requestsInFlight })
      process.exit(1)
    }
    isStopping = true
    life.draining(signal, requestsInFlight)
    notifyServiceManager('stopping', () => {})
    void Promise.all([admin?.close(), server.close()])
      .then(() => traces?.close())
      .then(() => life.ended('info', { signal }))
      .then(() => process.exit(0))
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('uncaughtException', (error) => {
    life.ended('error', { detail: `a fault of Windowpane: ${error.stack ?? error}` })
    process.exit(1)
  })
}
