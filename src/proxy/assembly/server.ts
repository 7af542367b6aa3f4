/** Starts Windowpane: puts stores, databases and listeners together, changes them while it runs, and takes them down in order. */
import type { Mark } from '../../core/mark.ts'
import type { ClaimCounters } from '../../engine/cell-claims.ts'
import { Purge } from '../../engine/purge/purge.ts'
import type { ShadowLog } from '../../engine/shadow/log.ts'
import type { NamedStore } from '../../telemetry/store-families.ts'
import type { SharedStore } from '../fleet/fleet.ts'
import { Limiters } from '../quotas/limiters.ts'
import type { Mode } from '../request/settings.ts'
import type { BackendRuntime } from './backend-runtime.ts'
import { type Common, commonOf } from './common.ts'
import { type DatabaseState, databaseState } from './database-state.ts'
import { type Listeners, OwnListeners, type PreparedChange } from './listeners.ts'
import type { DatabaseOptions, ProxyServerOptions } from './options.ts'
import { ownStorage } from './own-storage.ts'
import type { KnownDatabase, ServerInternals, ServerParts } from './parts.ts'
import { type ServedBackend, ServedBackends } from './served-backends.ts'
import { StoreModes } from './shared-modes.ts'
import type { FarStore, Storage } from './tiers.ts'

export interface ServerChange {
  /** All that are to be served. */
  readonly names: readonly string[]
  /** Databases that are new, or are opened anew. All others stay as they are. */
  readonly opened: readonly DatabaseOptions[]
  /** Stores that they need and that are not open. */
  readonly farStores?: ReadonlyMap<string, FarStore>
  /** The known state of the databases that are opened. */
  readonly known?: ReadonlyMap<string, KnownDatabase>
  /** Databases that hold other data than before under their names: their cached buckets are purged. */
  readonly replaced?: readonly string[]
}

export async function startServer(options: ProxyServerOptions): Promise<ProxyServer> {
  const server = new ProxyServer(options)
  await server.start()
  return server
}

export class ProxyServer {
  /** The findings of shadow mode about all databases. */
  readonly shadowLog: ShadowLog
  readonly limiters: Limiters
  readonly purge: Purge
  databases: readonly DatabaseState[] = []
  readonly #options: ProxyServerOptions
  readonly #parts: ServerParts
  readonly #common: Common
  readonly #storage: Storage
  readonly #backends: ServedBackends
  readonly #modes: StoreModes
  readonly #listeners: Listeners
  /** The backends to serve when the listeners are ready. */
  #next: readonly ServedBackend[] = []

  constructor(options: ProxyServerOptions) {
    const { clock, parts = {} } = options
    this.#options = options
    this.#parts = parts
    this.#common = commonOf(options)
    this.shadowLog = this.#common.shadowLog
    this.#storage = parts.storage ?? ownStorage(options, this.#common.budget)
    this.limiters = this.#newLimiters()
    this.#backends = new ServedBackends({
      ...{ common: this.#common, storage: this.#storage, limiters: this.limiters, hooks: parts.hooks },
    })
    this.purge = new Purge(clock, () =>
      this.#backends.list.map((each) => {
        const { name: backend, store, marks } = each
        return { backend, store, marks, isShared: this.#isShared(each) }
      }),
    )
    this.#modes = new StoreModes({
      ...{ clock, storage: this.#storage, backends: this.#backends },
      setMode: (runtime, mode) => this.#setMode(runtime, mode),
    })
    this.#listeners =
      parts.listeners?.(() => this.#internals()) ?? new OwnListeners(options, this.#common.arrivals)
  }

  async start(): Promise<void> {
    const { databases } = this.#options
    this.#next = databases.map((each) =>
      this.#backends.open(each, { known: this.#parts.known?.get(each.name) }),
    )
    this.#backends.replace(this.#next, () => {})
    await Promise.all([this.#storage.loadMarks?.(), this.#modes.follow(), ...this.#next.flatMap(readied)])
    try {
      const listening = await this.#listeners.prepare(this.#next)
      await listening.commit()
    } catch (error) {
      await this.#closeBehindListeners()
      throw error
    }
    this.databases = this.#next.map((each) => this.#stateOf(each))
  }

  /** The common address; without a database on it, the first of their own. */
  get url(): string {
    const { list } = this.#backends
    return this.#urlOf(list.find(({ listen }) => listen === undefined) ?? list[0]!)
  }

  get memory(): { readonly used: number; readonly limit: number } {
    return { used: this.#common.budget.used, limit: this.#options.limits.memoryBytes }
  }

  get sharedStores(): readonly SharedStore[] {
    return this.#storage.names.flatMap((name) => {
      const { fleet } = this.#storage.partsOf(this.#storage.of(name))
      return fleet === undefined ? [] : [{ name, nodes: fleet.nodes }]
    })
  }

  /** The names of the far stores that are open. */
  get farStores(): readonly string[] {
    return this.#storage.names
  }

  /** Memory first, then the far stores, including failed ones. */
  stores(): readonly NamedStore[] {
    return this.#storage.figures?.() ?? []
  }

  leases(): Readonly<ClaimCounters> | undefined {
    return this.#storage.leases?.()
  }

  /** Makes another set of databases ready. @throws WindowpaneError where that fails; nothing has changed then. */
  async prepare(change: ServerChange): Promise<PreparedChange> {
    const { farStores = new Map<string, FarStore>() } = change
    const opened: ServedBackend[] = []
    const undo = async () => {
      this.#next = this.#backends.list
      await Promise.all(opened.map(({ backendRuntime }) => backendRuntime.close()))
      await Promise.all(opened.map(({ backendRuntime }) => backendRuntime.learning.close()))
      await Promise.all([...farStores.keys()].map((name) => this.#storage.remove?.(name)))
    }
    try {
      await this.#storage.add?.(farStores)
      for (const database of change.opened) opened.push(this.#reopen(database, change))
      await Promise.all(opened.flatMap(readied))
      this.#next = change.names.map(
        (name) => opened.find((each) => each.name === name) ?? this.#backends.named(name)!,
      )
      const listening = await this.#listeners.prepare(this.#next)
      const discard = () => listening.discard().then(undo)
      return { urls: listening.urls, discard, commit: () => this.#commit(change, listening) }
    } catch (error) {
      await undo()
      throw error
    }
  }

  /** Stops listening, lets requests under way finish within the drain limit, then closes everything. */
  async close(): Promise<void> {
    await this.#listeners.close()
    await this.#closeBehindListeners()
  }

  async #commit({ names, replaced = [] }: ServerChange, listening: PreparedChange): Promise<void> {
    const { list } = this.#backends
    const removed = list.filter(({ name }) => !names.includes(name))
    const stale = [...removed, ...list.filter(({ name }) => replaced.includes(name))]
    await this.#forget(removed)
    await listening.commit()
    const busy = new Set(stale.filter((each) => !each.backendRuntime.isIdle && !this.#isShared(each)))
    this.#backends.replace(this.#next, (closed) => {
      // Its last requests may have fetched from the old database after the purge.
      if (busy.has(closed)) closed.mark(this.#allOf(closed))
      void this.#removeUnused(closed.farStore)
    })
    this.databases = this.#next.map((each) => this.#stateOf(each))
    await this.#modes.follow()
    await this.#forget(this.#next.filter(({ name }) => replaced.includes(name)))
  }

  /**
   * Purges the buckets of backends that are other databases now, or none. Other nodes may still serve them from a store that they
   * share, and where other threads keep the marks, the one that has the stores purges.
   */
  async #forget(backends: readonly ServedBackend[]): Promise<void> {
    if (this.#parts.hooks?.onMark !== undefined) return
    for (const each of backends) if (!this.#isShared(each)) await this.purge.run({ backend: each.name })
  }

  #allOf({ name }: ServedBackend): Mark {
    const always = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }
    return { kind: 'purge', backend: name, ...always, at: this.#options.clock.now() }
  }

  #isShared({ store }: ServedBackend): boolean {
    return this.#storage.partsOf(store).fleet !== undefined
  }

  #reopen(database: DatabaseOptions, { known, replaced = [] }: ServerChange): ServedBackend {
    const { name } = database
    const before = replaced.includes(name) ? undefined : this.#backends.named(name)
    const evidence = before?.backendRuntime.learning.evidence
    return this.#backends.open(database, { known: known?.get(name), evidence })
  }

  async #removeUnused(farStore: string | undefined): Promise<void> {
    if (farStore === undefined || farStore === this.#options.quotaStore) return
    const store = this.#storage.of(farStore)
    if (!this.#backends.isInUse(store)) await this.#storage.remove?.(farStore)
  }

  #newLimiters(): Limiters {
    const { clock, quotaStore, databases } = this.#options
    const cellsOf = (name: string | undefined) => this.#storage.partsOf(this.#storage.of(name)).cells
    return new Limiters({
      clock,
      cells: (cellsOf(quotaStore) ?? cellsOf(undefined))!,
      terms: () => (this.#backends.list[0] ?? databases[0])?.settings().quota,
      onChange: this.#parts.hooks?.onLimits,
    })
  }

  #internals(): ServerInternals {
    return {
      ...{ storage: this.#storage, via: this.#common.via, shadowLog: this.shadowLog },
      backendRuntimes: this.#next.map(({ backendRuntime }) => backendRuntime),
    }
  }

  async #setMode({ name, modes }: BackendRuntime, mode: Mode): Promise<Mode> {
    const was = modes.set(mode)
    await this.#parts.hooks?.onMode?.(name, mode)
    return was
  }

  #stateOf(each: ServedBackend): DatabaseState {
    return databaseState(each, {
      url: this.#urlOf(each),
      parts: this.#parts,
      setMode: async (mode) => {
        const shared = this.#modes.of(each.store)
        const [was, isShared] = await Promise.all([
          this.#setMode(each.backendRuntime, mode),
          shared?.set(each.name, mode),
        ])
        return { was, isShared }
      },
    })
  }

  #urlOf({ listen = this.#options.listen }: DatabaseOptions): string {
    return this.#listeners.urlOf(listen)
  }

  async #closeBehindListeners(): Promise<void> {
    this.#modes.close()
    this.#common.pieces.close()
    this.#common.backlog.finish()
    await this.#backends.close()
    await this.purge.close()
    await this.#backends.closeLearning()
    await this.limiters.close()
    await this.#parts.beforeStoresClose?.()
    await this.#storage.close?.()
  }
}

/** Resolves when the kind of the database is known, and its evidence is read. */
const readied = ({ backendRuntime }: ServedBackend): Promise<void>[] => [
  backendRuntime.ask(),
  backendRuntime.learning.load(),
]
