/** The stores and marks of a thread that serves requests: views of the keeper's. */
import type { Clock } from '../core/clock.ts'
import type { Mark } from '../core/mark.ts'
import { Marks } from '../engine/marks.ts'
import type { Storage } from '../proxy/assembly/tiers.ts'
import type { Store } from '../stores/store.ts'
import type { NamedStore } from '../telemetry/store-families.ts'
import type { Replica } from './cache/replica.ts'

export interface ThreadStorageOptions {
  readonly replica: Replica
  readonly clock: Clock
  readonly retentionMs: number
  /** By the names of the far stores; '' is memory alone. */
  readonly marks: ReadonlyMap<string, readonly Mark[]>
}

export class ThreadStorage implements Storage {
  readonly #stores = new Map<string, Store>()
  readonly #marks = new Map<Store, Marks>()
  readonly names: readonly string[]

  constructor({ replica, clock, retentionMs, marks: given }: ThreadStorageOptions) {
    this.names = [...given.keys()].filter((name) => name !== '')
    for (const [name, inForce] of given) {
      const store = replica.store(name)
      const marks = new Marks({ clock, retentionMs })
      marks.follow(inForce)
      this.#stores.set(name, store)
      this.#marks.set(store, marks)
    }
  }

  of(name: string | undefined): Store {
    return this.#stores.get(name ?? '') ?? this.#stores.get('')!
  }

  marksOf(store: Store): Marks {
    return this.#marks.get(store)!
  }

  follow(name: string, marks: readonly Mark[]): void {
    this.marksOf(this.of(name)).follow(marks)
  }

  /** They came with the briefing. */
  async loadMarks(): Promise<void> {}

  /** The keeper has them. */
  figures(): NamedStore[] {
    return []
  }

  async close(): Promise<void> {}
}
