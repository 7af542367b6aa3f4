/**
 * The backends that a server serves. After a change of the configuration, changed or removed ones answer the requests
 * that they have begun, and are closed when they are idle.
 */
import type { Mark } from '../../core/mark.ts'
import type { Marks } from '../../engine/marks.ts'
import { objectCache } from '../../engine/objects/object-cache.ts'
import type { ObjectCache } from '../../engine/objects/objects.ts'
import type { Store } from '../../stores/store.ts'
import type { Limiters } from '../quotas/limiters.ts'
import { BackendRuntime, type PriorState } from './backend-runtime.ts'
import type { Common } from './common.ts'
import type { DatabaseOptions } from './options.ts'
import type { ServerHooks } from './parts.ts'
import type { Storage } from './tiers.ts'

export interface ServedBackend extends DatabaseOptions {
  readonly store: Store
  readonly marks: Marks
  /** Marks changed data, in all threads. */
  readonly mark: (mark: Mark) => unknown
  readonly backendRuntime: BackendRuntime
}

export interface ServedBackendsOptions {
  readonly common: Common
  readonly storage: Storage
  readonly limiters: Limiters
  readonly hooks?: ServerHooks | undefined
}

/** How often one that is no longer served is looked at. */
const idleMs = 100

/** Of all memory, for answers that are kept as a whole. */
export const objectShare = 1 / 16

export class ServedBackends {
  readonly #options: ServedBackendsOptions
  /** One for each store: backends that share a store share its objects. */
  readonly #objects = new WeakMap<Store, ObjectCache>()
  readonly #retired = new Set<ServedBackend>()
  #isClosed = false
  list: readonly ServedBackend[] = []

  constructor(options: ServedBackendsOptions) {
    this.#options = options
  }

  named(name: string): ServedBackend | undefined {
    return this.list.find((backend) => backend.name === name)
  }

  /** Serves nothing yet. */
  open(database: DatabaseOptions, { known, evidence }: PriorState = {}): ServedBackend {
    const { common, storage, limiters, hooks } = this.#options
    const store = storage.of(database.farStore)
    const { marks, claims, evidenceCells } = storage.partsOf(store)
    const mark = (change: Mark) => {
      // Marks of a worker hold in that worker at once, and in all threads when the main thread has them.
      hooks?.onMark?.(database.farStore ?? '', change)
      return marks.add(change)
    }
    const backendRuntime = new BackendRuntime(common, {
      ...{ ...database, store, mark, known, evidence, limiters },
      ...{ marks: marks.of(database.name), claims, evidenceCells, objects: this.#objectsOf(store) },
    })
    return { ...database, store, marks, mark, backendRuntime }
  }

  /** From now on these are served. `whenClosed`: called for each that was served until now, once it is closed. */
  replace(list: readonly ServedBackend[], whenClosed: (left: ServedBackend) => void): void {
    const left = this.list.filter((backend) => !list.includes(backend))
    this.list = list
    for (const backend of left) {
      backend.backendRuntime.retire()
      this.#retired.add(backend)
      this.#closeWhenIdle(backend, whenClosed)
    }
  }

  isInUse(store: Store): boolean {
    return this.#all.some((backend) => backend.store === store)
  }

  /** Connections first; then the evidence, while the stores are open. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#all.map(({ backendRuntime }) => backendRuntime.close()))
  }

  async closeLearning(): Promise<void> {
    await Promise.all(this.#all.map(({ backendRuntime }) => backendRuntime.learning.close()))
  }

  get #all(): readonly ServedBackend[] {
    return [...this.list, ...this.#retired]
  }

  #closeWhenIdle(backend: ServedBackend, whenClosed: (left: ServedBackend) => void): void {
    this.#options.common.clock.after(idleMs, () => {
      if (this.#isClosed) return
      if (!backend.backendRuntime.isIdle) this.#closeWhenIdle(backend, whenClosed)
      else void this.#closeOne(backend).then(() => whenClosed(backend))
    })
  }

  async #closeOne(backend: ServedBackend): Promise<void> {
    const { backendRuntime } = backend
    await backendRuntime.close()
    await backendRuntime.learning.close()
    this.#retired.delete(backend)
  }

  #objectsOf(store: Store): ObjectCache {
    const known = this.#objects.get(store)
    if (known !== undefined) return known
    const { storage, common } = this.#options
    const { clock, budget, limits } = common
    const maxBytes = limits.memoryBytes * objectShare
    const { cells } = storage.partsOf(store)
    const cache = objectCache({ cells }, { clock, budget, maxBytes, timeoutSeconds: 'guarded' })
    this.#objects.set(store, cache)
    return cache
  }
}
