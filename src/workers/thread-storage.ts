/** The stores and marks of a thread that serves requests: views of the main thread's. */
import type { Clock } from '../core/clock.ts'
import type { Mark } from '../core/mark.ts'
import { type ClaimCounters, noLeases } from '../engine/cell-claims.ts'
import { Marks } from '../engine/marks.ts'
import type { Storage, StoreParts } from '../proxy/assembly/tiers.ts'
import type { Cells } from '../stores/cells.ts'
import type { Store } from '../stores/store.ts'
import type { NamedStore } from '../telemetry/store-families.ts'
import type { Replica } from './cache/replica.ts'
import type { RemoteClaims } from './claims.ts'

export interface ThreadStorageOptions {
  readonly replica: Replica
  readonly claims: RemoteClaims
  /** By the names of the far stores that have some. */
  readonly cells: ReadonlyMap<string, Cells>
  readonly clock: Clock
  readonly retentionMs: number
  /** By the names of the far stores; '' is memory alone. */
  readonly marks: ReadonlyMap<string, readonly Mark[]>
}

export class ThreadStorage implements Storage {
  readonly #stores = new Map<string, Store>()
  readonly #parts = new Map<Store, StoreParts>()
  readonly names: readonly string[]

  constructor({ replica, claims, cells, clock, retentionMs, marks: given }: ThreadStorageOptions) {
    this.names = [...given.keys()].filter((name) => name !== '')
    for (const [name, inForce] of given) {
      const store = replica.store(name)
      const marks = new Marks({ clock, retentionMs })
      marks.follow(inForce)
      this.#stores.set(name, store)
      this.#parts.set(store, { marks, claims: claims.of(name), cells: cells.get(name) })
    }
  }

  of(name: string | undefined): Store {
    return this.#stores.get(name ?? '') ?? this.#stores.get('')!
  }

  partsOf(store: Store): StoreParts {
    return this.#parts.get(store)!
  }

  follow(name: string, marks: readonly Mark[]): void {
    this.partsOf(this.of(name)).marks.follow(marks)
  }

  /** They came with `WorkerInit`. */
  async loadMarks(): Promise<void> {}

  /** The main thread has them. */
  figures(): NamedStore[] {
    return []
  }

  leases(): Readonly<ClaimCounters> {
    return noLeases
  }

  async close(): Promise<void> {}
}
