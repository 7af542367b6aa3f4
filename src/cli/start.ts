/** Starting the proxy from its configuration: server, telemetry, admin listener, reloads, and the end on a signal. */
import { detectKinds } from '../config/detect.ts'
import type { SplitArguments } from '../config/flags.ts'
import type { Config } from '../config/schema.ts'
import { databasesOf, serverOptionsOf } from '../config/settings.ts'
import { openTraces, type Traces } from '../config/traces.ts'
import { systemClock } from '../core/clock.ts'
import { socketPathOf } from '../core/socket-address.ts'
import { noLeases } from '../engine/cell-claims.ts'
import type { Admin } from '../proxy/admin/admin.ts'
import type { DatabaseState } from '../proxy/assembly/database-state.ts'
import { type ProxyServer, startServer } from '../proxy/assembly/server.ts'
import { Fleet } from '../proxy/fleet/fleet.ts'
import { logWarnings, toStream } from '../telemetry/log.ts'
import { watchProcess, withThreads } from '../telemetry/process-figures.ts'
import type { QuotaFigures } from '../telemetry/quota-families.ts'
import type { UpstreamHealth, WatchedSegments } from '../telemetry/source-families.ts'
import type { LearnedFigures } from '../telemetry/staleness-families.ts'
import { Telemetry } from '../telemetry/telemetry.ts'
import { version } from '../version.ts'
import { type RunningWorkerPool, startWorkerPool } from '../workers/main-thread.ts'
import { workersOf } from '../workers/shares.ts'
import { type AdminTrouble, openAdmin } from './admin.ts'
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

/** What is opened step by step; telemetry reads it from the beginning. */
interface Opened {
  workers?: RunningWorkerPool | undefined
  traces?: Traces | undefined
  server?: ProxyServer
  fleet?: Fleet
}

export async function start(first: ReadConfig, split: SplitArguments, io: CommandIo): Promise<void> {
  const { config } = first
  const opened: Opened = {}
  const telemetry = telemetryOf(opened, () => inForce.loaded.config, io)
  const { log } = telemetry
  const inForce: InForce = new InForce(first, log)
  const loaded = () => inForce.loaded
  const { kindOf } = inForce
  logWarnings(log)
  const file = configFileName(split, io)
  const configuration = file ?? 'flags'
  const life = new LifeLog(telemetry, configuration)
  inForce.kinds = await detectKinds(config, systemClock)
  await openWorkers(opened, inForce, telemetry)
  const { workers: pool, traces } = opened
  const server = await openServer(opened, inForce, telemetry)
  const node = new ThisNode({ config, server, telemetry })
  const fleet = openFleet(opened, server, node)
  const reloads = new Reloads({
    clock: systemClock,
    loaded,
    read: () => readConfig(split, io),
    apply: async (fresh) => {
      await inForce.change(fresh, { server, pool })
      // A store that nodes share may be the first one.
      void fleet.start()
    },
    onReload: (report, changes) => {
      telemetry.metrics.noteReload(report.isOk)
      life.reloaded(report, changes)
    },
  })
  const admin = await openAdmin({ server, telemetry, loaded, reloads, configuration, kindOf, fleet })
  node.admin = adminForOthers(admin)
  void fleet.start()
  endInOrder({ server, admin, traces, life })
  process.on('SIGHUP', () => void reloads.run())
  if (file !== undefined) watchFile(file, () => void reloads.run())
  notifyServiceManager('ready', (detail) => log.line('warn', 'systemd could not be notified', { detail }))
  const databases = server.databases.map(arrivedOf)
  const workers = pool === undefined ? 1 : workersOf(config)
  announce({ config, kinds: inForce.kinds, databases, admin }, { life, io, workers })
}

/** The threads that serve, where there are several; they trace the requests then, too. */
async function openWorkers(opened: Opened, inForce: InForce, telemetry: Telemetry): Promise<void> {
  const { kinds, loaded } = inForce
  const { config, given } = loaded
  opened.workers = await startWorkerPool({ served: { config, kinds, given }, telemetry })
  const hasWorkers = opened.workers !== undefined
  if (config.runtime.gcTuning) tuneGarbageCollection(config.limits.memoryBytes, hasWorkers)
  if (!hasWorkers) opened.traces = openTraces(config, telemetry)
}

async function openServer(opened: Opened, inForce: InForce, telemetry: Telemetry): Promise<ProxyServer> {
  const { config } = inForce.loaded
  const inUse = () => inForce.loaded.config
  const settings = () => inForce.settings
  const { workers } = opened
  opened.server = await startServer({
    ...serverOptionsOf(config),
    ...{ clock: systemClock, telemetry },
    sampleRatio: () => inUse().telemetry.traces.sampleRatio,
    databases: await databasesOf(config, { kindOf: inForce.kindOf, settings }),
    farStores: await openFarStores(config, { settings, config: inUse, log: telemetry.log }),
    ...workers?.server,
    parts: { ...workers?.server.parts, beforeStoresClose: async () => opened.fleet?.close() },
  })
  return opened.server
}

function openFleet(opened: Opened, server: ProxyServer, node: ThisNode): Fleet {
  opened.fleet = new Fleet({
    clock: systemClock,
    get stores() {
      return server.sharedStores
    },
    facts: () => node.facts(),
    summary: () => node.summary(),
  })
  return opened.fleet
}

/** A unix socket means nothing to other nodes. */
const adminForOthers = (admin: Arrived['admin']): string | undefined =>
  admin !== undefined && 'url' in admin && socketPathOf(admin.url) === undefined ? admin.url : undefined

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

function telemetryOf(opened: Opened, config: () => Config, io: CommandIo): Telemetry {
  const databases = () => opened.server?.databases ?? []
  const sum = (of: 'flights' | 'requests') =>
    databases().reduce((total, database) => total + database.figures()[of], 0)
  const read = watchProcess(systemClock)
  const sources = {
    stores: () => opened.server?.stores() ?? [],
    leases: () => opened.server?.leases() ?? noLeases,
    memory: () => opened.server?.memory ?? { used: 0, limit: 0 },
    flights: () => sum('flights'),
    requestsInFlight: () => sum('requests'),
    upstreams: () => upstreamHealth(databases()),
    segments: () => watchedSegments(databases()),
    learned: () => learnedFigures(databases()),
    quotas: () => quotaFigures(databases()),
    fleet: () => opened.fleet?.figures(),
    traces: () => opened.workers?.pool.spans ?? opened.traces?.figures,
    process: () => withThreads(read(), opened.workers?.pool.threads ?? []),
  }
  const log = {
    level: () => config().telemetry.logLevel,
    format: () => logFormatOf(config(), io),
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
  readonly admin: Admin | AdminTrouble | undefined
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
    void Promise.all([admin && 'close' in admin && admin.close(), server.close()])
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
