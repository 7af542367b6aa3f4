/** The configuration in force, and how a running proxy changes to another one: as a whole, or not at all. */
import type { KindName } from '../backends/kinds.ts'
import { type BackendChanges, backendChanges } from '../config/backend-changes.ts'
import { type DetectedKinds, detectKinds } from '../config/detect.ts'
import { databasesOf, settingsOf } from '../config/settings.ts'
import { systemClock } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import type { ProxyServer } from '../proxy/assembly/server.ts'
import type { FarStore } from '../proxy/assembly/tiers.ts'
import type { Settings } from '../proxy/request/settings.ts'
import type { Log } from '../telemetry/log.ts'
import type { RunningWorkerPool } from '../workers/main-thread.ts'
import type { ReadConfig } from './config-file.ts'
import { openFarStores } from './stores.ts'

interface Running {
  readonly server: ProxyServer
  readonly pool: RunningWorkerPool | undefined
}

export class InForce {
  readonly #log: Log
  loaded: ReadConfig
  /** Called once per request: a reload takes effect with the next one. */
  settings: ReadonlyMap<string, Settings>
  /** The kinds of the databases. */
  kinds: DetectedKinds = new Map()
  readonly kindOf = (name: string): KindName => this.kinds.get(name)!.kind

  constructor(loaded: ReadConfig, log: Log) {
    this.#log = log
    this.loaded = loaded
    this.settings = settingsOf(loaded.config)
  }

  /** @throws WindowpaneError where it cannot be applied; everything is as before then. */
  async change(fresh: ReadConfig, { server, pool }: Running): Promise<void> {
    const { config, given } = fresh
    const changes = backendChanges(this.loaded.config, config)
    const names = [...changes.added, ...changes.changed]
    const kinds = await this.#kindsWith(fresh, names)
    pool?.stage({ config, kinds, given })
    const farStores = await this.#openStores(fresh, server)
    const opened = await databasesOf(config, {
      ...{ names, kindOf: (name) => kinds.get(name)!.kind, settings: () => this.settings },
    })
    const { replaced } = changes
    const prepared = await server.prepare({
      names: Object.keys(config.backends),
      opened,
      farStores,
      replaced,
    })
    this.loaded = fresh
    this.settings = settingsOf(config)
    this.kinds = kinds
    await prepared.commit()
    this.#logChanges(changes)
  }

  async #kindsWith({ config }: ReadConfig, names: readonly string[]): Promise<DetectedKinds> {
    const backends = Object.fromEntries(names.map((name) => [name, config.backends[name]!]))
    const found = await detectKinds({ ...config, backends }, systemClock)
    const all = [...this.kinds, ...found].filter(([name]) => Object.hasOwn(config.backends, name))
    return new Map(all)
  }

  /**
   * Stores that are needed and not open. A store that cannot be opened is no reason not to start, but one not to
   * change.
   */
  async #openStores({ config }: ReadConfig, server: ProxyServer): Promise<ReadonlyMap<string, FarStore>> {
    const opened = await openFarStores(config, {
      ...{ settings: () => this.settings, config: () => this.loaded.config, log: this.#log },
      isOpen: (name) =>
        server.stores().some((store) => store.name === name) || server.farStores.includes(name),
    })
    const failed = [...opened].find(([, far]) => 'state' in far)
    if (failed === undefined) return opened
    for (const far of opened.values()) if ('close' in far) await far.close()
    const [name, far] = failed
    const detail = 'detail' in far ? far.detail : undefined
    throw new WindowpaneError('WINDOWPANE_STORE_UNAVAILABLE', `stores.${name} cannot be opened`, {
      remedy: detail ?? 'Check it with windowpane doctor.',
    })
  }

  #logChanges({ added, changed, removed }: BackendChanges): void {
    const log = this.#log
    for (const backend of added) log.line('info', 'the backend was added', { backend })
    for (const backend of changed) log.line('info', 'the backend was opened anew', { backend })
    for (const backend of removed) log.line('info', 'the backend was removed', { backend })
  }
}
