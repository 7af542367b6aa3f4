/** Modes that hold at all nodes which share a store: one follower per shared store, for the backends that use it now. */
import type { Clock } from '../../core/clock.ts'
import type { Store } from '../../stores/store.ts'
import { SharedModes } from '../fleet/shared-modes.ts'
import type { Mode } from '../request/settings.ts'
import type { BackendRuntime } from './backend-runtime.ts'
import type { ServedBackends } from './served-backends.ts'
import type { Storage } from './tiers.ts'

export interface StoreModesOptions {
  readonly clock: Clock
  readonly storage: Storage
  readonly backends: ServedBackends
  readonly setMode: (runtime: BackendRuntime, mode: Mode) => Promise<Mode>
}

export class StoreModes {
  readonly #options: StoreModesOptions
  readonly #byStore = new Map<Store, SharedModes>()

  constructor(options: StoreModesOptions) {
    this.#options = options
  }

  /** Undefined where no other node can share the store. */
  of(store: Store): SharedModes | undefined {
    return this.#byStore.get(store)
  }

  /** Follows the stores that are in use now. Resolves when the modes of new ones are in force. */
  async follow(): Promise<void> {
    const { backends } = this.#options
    const stores = new Set(backends.list.map(({ store }) => store))
    for (const [store, modes] of this.#byStore) {
      if (stores.has(store)) continue
      modes.close()
      this.#byStore.delete(store)
    }
    const added = [...stores].filter((store) => !this.#byStore.has(store))
    await Promise.all(added.map((store) => this.#add(store)?.load()))
  }

  close(): void {
    for (const modes of this.#byStore.values()) modes.close()
  }

  #add(store: Store): SharedModes | undefined {
    const { clock, storage, backends, setMode } = this.#options
    const { fleet } = storage.partsOf(store)
    if (fleet === undefined) return undefined
    const users = () =>
      backends.list
        .filter((backend) => backend.store === store)
        .map(({ name, backendRuntime }) => ({
          name,
          get state() {
            return backendRuntime.modes.state
          },
          set: (mode: Mode) => setMode(backendRuntime, mode),
        }))
    const isFirst = () => fleet.nodes.isFirst()
    const modes = new SharedModes({ clock, backends: users, row: fleet.modes, isFirst })
    this.#byStore.set(store, modes)
    return modes
  }
}
