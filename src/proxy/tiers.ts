/** The stores of one process: its memory, and per far store the memory in front of it. */
import type { Clock } from '../core/clock.ts'
import { Marks } from '../engine/marks.ts'
import type { StoreCondition } from '../stores/figures.ts'
import type { Store } from '../stores/store.ts'
import { type TieredStore, tieredStore } from '../stores/tiered.ts'
import type { NamedStore } from '../telemetry/store-families.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'

/** A store, or how it is that there is none. */
export type FarStore = Store | StoreCondition

export interface TiersOptions {
  readonly clock: Clock
  readonly memory: Store
  /** By their names in the configuration. */
  readonly farStores: ReadonlyMap<string, FarStore>
  readonly telemetry: Telemetry | undefined
  /** How long marks are kept. */
  readonly retentionMs: number
}

export class Tiers {
  readonly #memory: Store
  readonly #tiers = new Map<string, TieredStore>()
  readonly #missing: NamedStore[] = []
  /** By store: who shares one shares its marks. */
  readonly #marks = new Map<Store, Marks>()

  constructor({ clock, memory, farStores, telemetry, retentionMs }: TiersOptions) {
    this.#memory = memory
    this.#marks.set(memory, new Marks({ clock, retentionMs }))
    for (const [name, far] of farStores) {
      if ('state' in far) this.#missing.push({ name: labelOf(name), health: far })
      else {
        const onOperation = telemetry?.storeHook(labelOf(name))
        const tier = tieredStore({ clock, near: memory, far, ...(onOperation && { onOperation }) })
        this.#tiers.set(name, tier)
        this.#marks.set(tier, new Marks({ clock, retentionMs, cells: far.cells }))
      }
    }
  }

  /** Memory alone where there is no such far store. */
  of(name: string | undefined): Store {
    return this.#tiers.get(name ?? '') ?? this.#memory
  }

  /** The marks of those who use a store that `of` gave. */
  marksOf(store: Store): Marks {
    return this.#marks.get(store)!
  }

  /** To be waited for before the first request: what was purged before a restart stays so. */
  async loadMarks(): Promise<void> {
    await Promise.all([...this.#marks.values()].map((marks) => marks.load()))
  }

  /** Memory first. */
  figures(): NamedStore[] {
    const far = [...this.#tiers].map(([name, tier]) => ({ name: labelOf(name), ...tier.farFigures() }))
    return [{ name: 'memory', ...this.#memory.figures?.() }, ...far, ...this.#missing]
  }

  async close(): Promise<void> {
    for (const marks of this.#marks.values()) marks.close()
    await Promise.all([...this.#tiers.values()].map((tier) => tier.close()))
    await this.#memory.close()
  }
}

/** A far store may be configured under the name of the memory in front of it. */
const labelOf = (name: string): string => (name === 'memory' ? 'memory-far' : name)
