/** The stores and marks of a thread that serves requests: views of the main thread's. */
import type { Clock } from '../core/clock.ts'
import type { Mark } from '../core/mark.ts'
import { Marks } from '../engine/marks.ts'
import type { Storage, StoreParts } from '../proxy/assembly/tiers.ts'
import type { Cells } from '../stores/cells.ts'
import type { Store } from '../stores/store.ts'
import type { Replica } from './cache/replica.ts'
import type { RemoteClaims } from './claims.ts'

export interface ThreadStorageOptions {
  readonly replica: Replica
  readonly claims: RemoteClaims
  readonly clock: Clock
  readonly retentionMs: number
}

/** The main thread's description of its stores, which it opens and closes. */
export interface KnownStores {
  /** By the names of the far stores that have some. */
  readonly cells: ReadonlyMap<string, Cells>
  /** By the names of the far stores; '' is memory alone. */
  readonly marks: ReadonlyMap<string, readonly Mark[]>
}

export class ThreadStorage implements Storage {
  readonly #options: ThreadStorageOptions
  readonly #stores = new Map<string, Store>()
  readonly #parts = new Map<Store, StoreParts>()

  constructor(options: ThreadStorageOptions, stores: KnownStores) {
    this.#options = options
    this.follow(stores)
  }

  get names(): readonly string[] {
    return [...this.#stores.keys()].filter((name) => name !== '')
  }

  follow({ marks: given, cells }: KnownStores): void {
    const { replica, claims, clock, retentionMs } = this.#options
    for (const [name, inForce] of given) {
      if (this.#stores.has(name)) continue
      const store = replica.store(name)
      const marks = new Marks({ clock, retentionMs })
      marks.replaceAll(inForce)
      this.#stores.set(name, store)
      this.#parts.set(store, { marks, claims: claims.of(name), cells: cells.get(name) })
    }
  }

  /** Forgets all other far stores: one of the same name may be another store later. Backends that still use one have it. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.names) if (!names.has(name)) this.#stores.delete(name)
  }

  of(name: string | undefined): Store {
    return this.#stores.get(name ?? '') ?? this.#stores.get('')!
  }

  partsOf(store: Store): StoreParts {
    return this.#parts.get(store)!
  }

  followMarks(name: string, marks: readonly Mark[]): void {
    const store = this.#stores.get(name)
    if (store !== undefined) this.partsOf(store).marks.replaceAll(marks)
  }
}
