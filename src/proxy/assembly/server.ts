/** Starts Windowpane: puts stores, databases and listeners together, and takes them down in order. */
import type { Flavour } from '../../backends/backend.ts'
import type { Budget } from '../../core/budget.ts'
import type { Clock } from '../../core/clock.ts'
import type { Mark } from '../../core/mark.ts'
import type { ClaimCounters } from '../../engine/cell-claims.ts'
import type { NotSampled, Sampled, SamplingOrder } from '../../engine/learning/sampling.ts'
import { objectCache } from '../../engine/objects/object-cache.ts'
import type { ObjectCache } from '../../engine/objects/objects.ts'
import { WholeRules } from '../../engine/objects/whole-terms.ts'
import { Purge } from '../../engine/purge/purge.ts'
import type { ShadowLog } from '../../engine/shadow/log.ts'
import { shapesNamed } from '../../engine/shapes-named.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import type { Store } from '../../stores/store.ts'
import type { NamedStore } from '../../telemetry/store-families.ts'
import type { SwitchableMode } from '../admin/shadow.ts'
import type { SharedStore } from '../fleet/fleet.ts'
import { SharedModes } from '../fleet/shared-modes.ts'
import { Limiters } from '../quotas/limiters.ts'
import type { Mode } from '../request/settings.ts'
import type { SegmentFigures } from '../upstream/witness.ts'
import type { LearningFigures } from './backend-learning.ts'
import { BackendRuntime, type BackendRuntimeFigures } from './backend-runtime.ts'
import { type Common, commonOf } from './common.ts'
import { openListeners } from './listeners.ts'
import type { DatabaseOptions, ProxyServerOptions } from './options.ts'
import { type Storage, Tiers } from './tiers.ts'

export interface ProxyServer {
  /** The common address; without a database on it, the first of their own. */
  readonly url: string
  readonly databases: readonly DatabaseState[]
  readonly memory: { readonly used: number; readonly limit: number }
  /** Memory first, then the far stores, including failed ones. */
  stores(): readonly NamedStore[]
  leases(): Readonly<ClaimCounters>
  readonly purge: Purge
  /** The findings of shadow mode about all of them. */
  readonly shadowLog: ShadowLog
  readonly limiters: Limiters
  /** The far stores that other nodes may share. */
  readonly sharedStores: readonly SharedStore[]
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
  /** By key, or by the text of the shape or of its query. */
  shapesNamed(names: ReadonlySet<string>): ReturnType<typeof shapesNamed>
  /** How the watcher of its segments fares; undefined where there is none. */
  readonly segments: SegmentFigures | undefined
  learning(): LearningFigures
  /** Fetches buckets of recently requested shapes twice, and learns from the differences. */
  sample(order: SamplingOrder): Promise<Sampled | NotSampled>
}

export async function startServer(options: ProxyServerOptions): Promise<ProxyServer> {
  const { clock, databases, parts = {} } = options
  const common = commonOf(options)
  const { budget, via, shadowLog, pieces, backlog } = common
  const storage = parts.storage ?? ownStorage(options, budget)
  const partsOf = (name: string | undefined) => storage.partsOf(storage.of(name))
  const limiters = new Limiters({
    clock,
    cells: (partsOf(options.quotaStore).cells ?? partsOf(undefined).cells)!,
    terms: () => databases[0]?.settings().quota,
    onChange: parts.hooks?.onLimits,
  })
  const objectCaches = objectCachesOf(storage, common)
  const backendRuntimes = databases.map((database) => {
    const store = storage.of(database.farStore)
    const { marks, claims, evidenceCells } = storage.partsOf(store)
    const { name } = database
    const mark = (change: Mark) => {
      // Marks of a worker hold in that worker at once, and in all threads when the main thread has them.
      parts.hooks?.onMark?.(database.farStore ?? '', change)
      return marks.add(change)
    }
    const known = parts.known?.get(name)
    const backendRuntime = new BackendRuntime(common, {
      ...{ ...database, store, mark, known, limiters },
      ...{ marks: marks.of(name), claims, evidenceCells, objects: objectCaches(store) },
    })
    return { ...database, store, marks, backendRuntime }
  })
  const purge = new Purge(
    clock,
    backendRuntimes.map(({ name, store, marks }) => ({
      ...{ backend: name, store, marks },
      isShared: storage.partsOf(store).fleet !== undefined,
    })),
  )
  const setMode = async ({ name, modes }: BackendRuntime, mode: Mode): Promise<Mode> => {
    const was = modes.set(mode)
    await parts.hooks?.onMode?.(name, mode)
    return was
  }
  const sharedModes = sharedModesOf(backendRuntimes, { storage, clock, setMode })
  const closeBehindListeners = async () => {
    for (const modes of sharedModes.values()) modes.close()
    pieces.close()
    backlog.finish()
    await Promise.all(backendRuntimes.map(({ backendRuntime }) => backendRuntime.close()))
    await purge.close()
    await Promise.all(backendRuntimes.map(({ backendRuntime }) => backendRuntime.learning.close()))
    await limiters.close()
    await parts.beforeStoresClose?.()
    await storage.close()
  }
  await Promise.all([
    storage.loadMarks(),
    ...[...sharedModes.values()].map((modes) => modes.load()),
    ...backendRuntimes.flatMap(({ backendRuntime }) => [
      backendRuntime.ask(),
      backendRuntime.learning.load(),
    ]),
  ])
  const inside = {
    storage,
    backendRuntimes: backendRuntimes.map(({ backendRuntime }) => backendRuntime),
    via,
    shadowLog,
  }
  const opening = parts.openListeners?.(inside) ?? openListeners(options, backendRuntimes, common.arrivals)
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
    sharedStores: sharedStoresOf(storage),
    leases: () => storage.leases(),
    purge,
    shadowLog,
    limiters,
    databases: backendRuntimes.map((each) => ({
      name: each.name,
      backendRuntime: each.backendRuntime,
      url: addressOf(each),
      modes: {
        get state() {
          return each.backendRuntime.modes.state
        },
        async set(mode) {
          const shared = sharedModes.get(each.store)
          const [was, isShared] = await Promise.all([
            setMode(each.backendRuntime, mode),
            shared?.set(each.name, mode),
          ])
          return { was, isShared }
        },
      },
      shapesNamed: (names) => shapesNamed(each.store, each.name, names),
      figures: () => parts.figures?.(each.name) ?? each.backendRuntime.figures(),
      sample: (order) => parts.sample?.(each.name, order) ?? each.backendRuntime.sampling.run(order),
      learning: () => each.backendRuntime.learning.figures(),
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

/** Of all memory, for answers that are kept as a whole. */
const objectShare = 1 / 16

/** One for each store: backends that share a store share its objects. */
function objectCachesOf(storage: Storage, { clock, budget, limits }: Common): (store: Store) => ObjectCache {
  const caches = new Map<Store, ObjectCache>()
  return (store) => {
    const known = caches.get(store)
    if (known !== undefined) return known
    const maxBytes = limits.memoryBytes * objectShare
    const { cells } = storage.partsOf(store)
    const cache = objectCache({ cells }, { clock, budget, maxBytes, timeoutSeconds: 'guarded' })
    caches.set(store, cache)
    return cache
  }
}

function ownStorage(options: ProxyServerOptions, budget: Budget): Storage {
  const { clock, limits, telemetry, farStores = new Map(), parts, store = memoryStore } = options
  const { maxBucketsPerShape } = limits
  const retentionMs = retentionOf(options)
  const memory = store({ clock, budget, retentionMs, maxBucketsPerShape })
  const objectBytes = limits.memoryBytes * objectShare
  return new Tiers({
    ...{ clock, memory, farStores, telemetry, retentionMs, objectBytes },
    onMarks: parts?.hooks?.onMarks,
  })
}

interface SharedModesParts {
  readonly storage: Storage
  readonly clock: Clock
  readonly setMode: (runtime: BackendRuntime, mode: Mode) => Promise<Mode>
}

/** By store: the backends of a shared store adopt the modes set at any node. */
function sharedModesOf(
  runtimes: readonly { readonly store: Store; readonly backendRuntime: BackendRuntime }[],
  { storage, clock, setMode }: SharedModesParts,
): ReadonlyMap<Store, SharedModes> {
  const shared = new Map<Store, SharedModes>()
  for (const [store, users] of Map.groupBy(runtimes, (each) => each.store)) {
    const { fleet } = storage.partsOf(store)
    if (fleet === undefined) continue
    const backends = users.map(({ backendRuntime }) => ({
      name: backendRuntime.name,
      get state() {
        return backendRuntime.modes.state
      },
      set: (mode: Mode) => setMode(backendRuntime, mode),
    }))
    shared.set(
      store,
      new SharedModes({ clock, backends, row: fleet.modes, isFirst: () => fleet.nodes.isFirst() }),
    )
  }
  return shared
}

const sharedStoresOf = (storage: Storage): SharedStore[] =>
  storage.names.flatMap((name) => {
    const { fleet } = storage.partsOf(storage.of(name))
    return fleet === undefined ? [] : [{ name, nodes: fleet.nodes }]
  })

/**
 * Stale serving needs the old bytes: nothing is collected while it is of use. Fixed at start, because marks are kept
 * for as long: where a reload makes TTLs longer than that, buckets are collected before their TTL is over, and fetched
 * again.
 */
export function retentionOf({ limits, databases }: Pick<ProxyServerOptions, 'limits' | 'databases'>): number {
  const caps = databases.flatMap(({ settings, segments, backend }) => {
    const { terms, rules, whole } = settings()
    const all = [terms, ...rules.map((rule) => ({ ...terms, ...rule.terms }))]
    const wholeMs = whole === undefined ? 0 : new WholeRules(backend.whole, whole).longestUseMs
    return all.map(({ policy, maxStaleMs }) =>
      Math.max(Math.max(policy.capMs, segments?.maxAgeMs ?? 0) + maxStaleMs, wholeMs + maxStaleMs),
    )
  })
  return Math.max(limits.retentionMs, ...caps)
}
