/** Starts Windowpane: puts stores, databases and listeners together, and takes them down in order. */
import { getHeapStatistics } from 'node:v8'
import type { Backend, Flavour, SegmentSettings } from '../../backends/backend.ts'
import { Budget, BudgetShare, spareOf } from '../../core/budget.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { CutReason } from '../../core/decision.ts'
import { GarbageWatch } from '../../core/garbage.ts'
import type { Mark } from '../../core/mark.ts'
import { allOn, garbageCollector, type RuntimeSwitches } from '../../core/runtime.ts'
import { ingestScratch, ScratchPool } from '../../core/scratch.ts'
import { Backlog } from '../../engine/backlog.ts'
import type { Identity } from '../../engine/http/identity.ts'
import { Purge } from '../../engine/purge/purge.ts'
import { ShadowLog, type VerifyResult } from '../../engine/shadow/log.ts'
import { type MemoryStoreOptions, memoryStore } from '../../stores/memory/index.ts'
import type { Store } from '../../stores/store.ts'
import type { NamedStore } from '../../telemetry/store-families.ts'
import type { Observer } from '../../telemetry/telemetry.ts'
import { ladder } from '../../ttl/ladder.ts'
import type { TtlPolicy } from '../../ttl/policy.ts'
import type { SwitchableMode } from '../admin/shadow.ts'
import { PackedAnswers } from '../compression/packed.ts'
import { Pieces } from '../compression/pieces.ts'
import { ThreadMaker } from '../compression/pieces-maker.ts'
import { Arrivals } from '../front/arrivals.ts'
import { type Listener, type ListenerOptions, openListener } from '../front/listener.ts'
import { type Limits, limitsOf } from '../limits.ts'
import { answererOf } from '../request/dispatch.ts'
import { narrowness, type Route } from '../request/routes.ts'
import type { Settings } from '../request/settings.ts'
import { SharedAnswers } from '../request/shared-answers.ts'
import { Pace, type PaceOptions } from '../upstream/pace.ts'
import type { SegmentFigures } from '../upstream/witness.ts'
import {
  BackendRuntime,
  type BackendRuntimeFigures,
  type Common,
  type DatabaseAddress,
} from './backend-runtime.ts'
import type { ServerHooks, ServerParts } from './parts.ts'
import { type FarStore, type Storage, Tiers } from './tiers.ts'

export interface ProxyServerOptions {
  /** The address of the databases that have none of their own. */
  readonly listen: string
  readonly limits: Limits
  /** All on where it is not given. */
  readonly runtime?: RuntimeSwitches
  readonly clock: Clock
  readonly databases: readonly DatabaseOptions[]
  /** Stores behind the memory of this process, by name; the server closes them. */
  readonly farStores?: ReadonlyMap<string, FarStore>
  /** Looks on. */
  readonly telemetry?: Observer
  /** Which share of the requests without a trace of their own is traced, while anybody listens. */
  readonly sampleRatio?: () => number
  /** TLS on all listeners. */
  readonly tls?: ListenerOptions['tls']
  /** Instead of the memory store, which would be made with these options. */
  readonly store?: (budget: Budget, options: MemoryStoreOptions) => Store
  /** What it shares with others instead of having it to itself. */
  readonly parts?: ServerParts
}

export interface DatabaseOptions {
  readonly name: string
  readonly backend: Backend
  readonly upstream: DatabaseAddress
  readonly listen?: string
  readonly route?: Route
  /** One of the server's far stores; without one, buckets are in memory only. */
  readonly farStore?: string
  readonly settings: () => Settings
  /** Where its segments are to be watched. */
  readonly segments?: SegmentSettings
}

export interface ProxyServer {
  /** The common address; without a database on it, the first of their own. */
  readonly url: string
  readonly databases: readonly DatabaseState[]
  readonly memory: { readonly used: number; readonly limit: number }
  /** Memory first, then the far stores, also those that could not be opened. */
  stores(): readonly NamedStore[]
  readonly purge: Purge
  /** What shadow mode has found out about any of them. */
  readonly shadowLog: ShadowLog
  /** Stops listening, lets requests under way finish within the drain limit, then closes everything. */
  close(): Promise<void>
}

export interface DatabaseState {
  readonly name: string
  /** Where its requests are answered, without the path of its route. */
  readonly url: string
  readonly flavour: Flavour
  readonly backendRuntime: BackendRuntime
  readonly modes: SwitchableMode
  figures(): BackendRuntimeFigures
  /** How the watcher of its segments fares; undefined where there is none. */
  readonly segments: SegmentFigures | undefined
}

export async function startServer(options: ProxyServerOptions): Promise<ProxyServer> {
  const { clock, databases, parts = {} } = options
  const common = commonOf(options)
  const { budget, via, shadowLog, pieces, backlog } = common
  const storage = parts.storage ?? ownStorage(options, budget)
  const backendRuntimes = databases.map((database) => {
    const store = storage.of(database.farStore)
    const marks = storage.marksOf(store)
    const { name } = database
    const mark = (change: Mark) => marks.add(change)
    const known = parts.known?.get(name)
    const backendRuntime = new BackendRuntime(common, {
      ...{ ...database, store, mark, known },
      ...{ marks: marks.of(name), claims: storage.claimsOf(store) },
    })
    return { ...database, store, marks, backendRuntime }
  })
  const purge = new Purge(
    clock,
    backendRuntimes.map(({ name, store, marks }) => ({ backend: name, store, marks })),
  )
  const closeBehindListeners = async () => {
    pieces.close()
    backlog.finish()
    await Promise.all(backendRuntimes.map(({ backendRuntime }) => backendRuntime.close()))
    await purge.close()
    await storage.close()
  }
  await Promise.all([
    storage.loadMarks(),
    ...backendRuntimes.map(({ backendRuntime }) => backendRuntime.ask()),
  ])
  const inside = {
    storage,
    backendRuntimes: backendRuntimes.map(({ backendRuntime }) => backendRuntime),
    via,
    shadowLog,
  }
  const opening = parts.openListeners?.(inside) ?? openAll(options, backendRuntimes, common.arrivals)
  const listeners = await opening.catch(async (error) => {
    await closeBehindListeners()
    throw error
  })
  const addressOf = (database: DatabaseOptions) => listeners.get(database.listen ?? options.listen)!.url
  return {
    url: addressOf(databases.find(({ listen }) => listen === undefined) ?? databases[0]!),
    get memory() {
      return { used: budget.used, limit: options.limits.memoryBytes }
    },
    stores: () => storage.figures(),
    purge,
    shadowLog,
    databases: backendRuntimes.map((each) => ({
      name: each.name,
      backendRuntime: each.backendRuntime,
      url: addressOf(each),
      modes: announcedModes(each.backendRuntime, parts.hooks),
      figures: () => parts.figures?.(each.name) ?? each.backendRuntime.figures(),
      get flavour() {
        return each.backendRuntime.flavour
      },
      get segments() {
        return each.backendRuntime.segments
      },
    })),
    async close() {
      await Promise.all([...listeners.values()].map((listener) => listener.close()))
      await closeBehindListeners()
    },
  }
}

function commonOf(options: ProxyServerOptions): Common {
  const { clock, limits, runtime = allOn, telemetry, sampleRatio, parts = {} } = options
  const budget = parts.budget ?? ownBudget(limits)
  const ofThread = limits.memoryBytes / (parts.threads ?? 1)
  const onResult = (backend: string, result: VerifyResult) =>
    telemetry?.metrics.observeVerify(backend, result)
  ingestScratch.keepAtMost(Math.min(ingestBytes, unusedBytesOf(limits)))
  return {
    ...{ clock, limits, runtime, budget, telemetry, sampleRatio },
    arrivals: new Arrivals(budget, limits.maxRequestBytes + limits.maxHeaderBytes, ofThread),
    forwardBuffers: new BudgetShare(budget, ofThread * forwardShare),
    shared: new SharedAnswers(budget),
    scratch: new ScratchPool(unusedBytesOf(limits)),
    packed: new PackedAnswers(budget),
    pace: new Pace(collectingInTime(limits, runtime)),
    backlog: new Backlog(clock, { maxBytes: Math.min(8 * 2 ** 20, unusedBytesOf(limits)) }),
    pieces: new Pieces(budget, new ThreadMaker()),
    via: parts.via ?? `windowpane-${Math.floor(clock.random() * 2 ** 48).toString(36)}`,
    shadowLog: parts.shadowLog ?? new ShadowLog({ clock, budget, onResult }),
    hooks: parts.hooks ?? {},
  }
}

/** Of the memory, what forwarded answers may take that clients have not taken yet. */
const forwardShare = 1 / 8

/** What is in no budget, such as buffers that lie unused for the next answers, must be little beside it. */
const unusedBytesOf = ({ memoryBytes }: Limits): number => Math.min(32 * 2 ** 20, memoryBytes / 32)

/** What is unused of buffers for responses that are being split, however large the limit is. */
const ingestBytes = 16 * 2 ** 20

/** From here on, the default included, the limit has room for the garbage that V8 lets come, and hits wait for no collection. */
const largeLimit = 512 * 2 ** 20

/** Responses that are read are what becomes garbage: small limits have no room for as much of it as V8 lets come. */
function collectingInTime({ memoryBytes }: Limits, { gcOnDemand }: RuntimeSwitches): PaceOptions {
  if (!gcOnDemand || memoryBytes >= largeLimit) return {}
  const collect = garbageCollector()
  const watch = new GarbageWatch({
    maxBytes: spareOf(memoryBytes) / 4,
    bufferBytes: () => getHeapStatistics().external_memory,
    collect: () => collect(),
  })
  return { onRead: (bytes) => watch.count(bytes) }
}

const ownBudget = ({ memoryBytes }: Limits): Budget =>
  new Budget(memoryBytes, { spare: spareOf(memoryBytes) })

function ownStorage(options: ProxyServerOptions, budget: Budget): Storage {
  const { clock, limits, telemetry, farStores = new Map(), parts, store = makeMemoryStore } = options
  const { maxBucketsPerShape } = limits
  const retentionMs = retentionOf(options)
  const memory = store(budget, { clock, budget, retentionMs, maxBucketsPerShape })
  return new Tiers({ clock, memory, farStores, telemetry, retentionMs, onMarks: parts?.hooks?.onMarks })
}

const makeMemoryStore = (_: Budget, options: MemoryStoreOptions): Store => memoryStore(options)

/** A mode is set once whoever is told of it has taken it over. */
const announcedModes = ({ name, modes }: BackendRuntime, { onMode }: ServerHooks = {}): SwitchableMode => ({
  get state() {
    return modes.state
  },
  async set(mode) {
    const was = modes.set(mode)
    await onMode?.(name, mode)
    return was
  },
})

type PlacedSite = DatabaseOptions & { readonly backendRuntime: BackendRuntime }

/** One listener per address, each with the databases that are to be reached there. */
async function openAll(
  { listen, limits, runtime = allOn, clock, tls, telemetry, parts }: ProxyServerOptions,
  backendRuntimes: readonly PlacedSite[],
  arrivals: Arrivals,
): Promise<Map<string, Listener>> {
  const listeners = new Map<string, Listener>()
  const onCertificate = (error: string | undefined) =>
    telemetry?.log.change('certificate of the listener', {
      is: error ?? 'in force',
      isGood: error === undefined,
    })
  const byClaim = backendRuntimes.toSorted((a, b) => narrowness(b.route) - narrowness(a.route))
  for (const [address, group] of Map.groupBy(byClaim, (backendRuntime) => backendRuntime.listen ?? listen)) {
    const secure = tls && { tls, onCertificate }
    const reusePort = parts?.reusePort === true
    const onCut = (reason: CutReason) => telemetry?.metrics.observeCut(reason)
    const listening = { address, limits, runtime, clock, reusePort, arrivals, onCut, ...secure }
    const answer = answererOf(group)
    const listener = openListener(listening, answer, answer)
    listeners.set(address, await listener.catch((error) => closeAll(listeners, error)))
  }
  return listeners
}

async function closeAll(listeners: ReadonlyMap<string, Listener>, error: unknown): Promise<never> {
  await Promise.all([...listeners.values()].map((listener) => listener.close()))
  throw error
}

/** Stale serving needs the old bytes: nothing is collected before it is of no use to anybody. */
export function retentionOf({ limits, databases }: Pick<ProxyServerOptions, 'limits' | 'databases'>): number {
  const caps = databases.map(({ settings, segments }) => {
    const { policy, maxStaleMs } = settings().terms
    return Math.max(policy.capMs, segments?.maxAgeMs ?? 0) + maxStaleMs
  })
  return Math.max(limits.retentionMs, ...caps)
}

export interface WindowpaneOptions {
  /** The database's URL. */
  readonly upstream: string
  readonly backend: Backend
  /** host:port; port 0 takes a free one. */
  readonly listen?: string
  readonly policy?: TtlPolicy
  readonly identity?: Identity
  readonly limits?: Partial<Limits>
  /** What may rely on internals of Node and V8; all of it where it is not given. */
  readonly runtime?: RuntimeSwitches
  readonly clock?: Clock
  /** Instead of the memory store. */
  readonly store?: (budget: Budget) => Store
}

export interface Windowpane {
  readonly url: string
  /** What the database said it is; not known while it cannot be asked. */
  readonly flavour: Flavour
  /** Stops listening, lets requests under way finish within the drain limit, then closes everything. */
  close(): Promise<void>
}

/** Windowpane in front of one database, with the same settings as long as it runs. */
export async function startWindowpane(options: WindowpaneOptions): Promise<Windowpane> {
  const limits = limitsOf(options.limits)
  const { policy = ladder(), identity = 'separate', runtime = allOn, store } = options
  const terms = { mode: 'on', identity, policy, maxStaleMs: limits.maxStaleMs } as const
  const settings: Settings = { terms, rules: [] }
  const server = await startServer({
    listen: options.listen ?? '127.0.0.1:9191',
    limits,
    runtime,
    clock: options.clock ?? systemClock,
    databases: [
      {
        name: 'main',
        backend: options.backend,
        upstream: { urls: [options.upstream] },
        settings: () => settings,
      },
    ],
    ...(store && { store }),
  })
  return {
    url: server.url,
    get flavour() {
      return server.databases[0]!.flavour
    },
    close: () => server.close(),
  }
}
