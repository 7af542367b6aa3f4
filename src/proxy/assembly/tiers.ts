/** The stores of one process: its memory, and per far store the memory in front of it. */
import type { Clock } from '../../core/clock.ts'
import type { Mark } from '../../core/mark.ts'
import { CellClaims } from '../../engine/cell-claims.ts'
import type { Claims } from '../../engine/claims.ts'
import { Marks } from '../../engine/marks.ts'
import type { Cells } from '../../stores/cells.ts'
import type { StoreCondition } from '../../stores/figures.ts'
import type { OpenedStore } from '../../stores/kind.ts'
import type { Store } from '../../stores/store.ts'
import { type TieredStore, tieredStore } from '../../stores/tiered.ts'
import type { NamedStore } from '../../telemetry/store-families.ts'
import type { Observer } from '../../telemetry/telemetry.ts'
import { ModeRow } from '../fleet/mode-row.ts'
import { NodeRows } from '../fleet/node-rows.ts'

/** An open store and how it is used, or why there is none. */
export type FarStore = (OpenedStore & FarTerms) | StoreCondition

export interface FarTerms {
  /** How long one operation of it may take. */
  readonly timeoutMs: number
  /** See `TieredStoreOptions`. */
  readonly noticeMs?: number | undefined
}

export interface TiersOptions {
  readonly clock: Clock
  readonly memory: Store
  /** By their names in the configuration. */
  readonly farStores: ReadonlyMap<string, FarStore>
  readonly telemetry: Observer | undefined
  /** How long marks are kept. */
  readonly retentionMs: number
  /** Told what marks of a store are in force; '' is memory alone. */
  readonly onMarks?: ((store: string, marks: readonly Mark[]) => Promise<void>) | undefined
}

export interface StoreParts {
  readonly marks: Marks
  /** Where others, threads or nodes, fetch for it. */
  readonly claims?: Claims | undefined
  /** Where it has some that outlive this process or are shared. */
  readonly cells?: Cells | undefined
  /** What nodes that share the store tell each other; only in the thread that has the store. */
  readonly fleet?: FleetRows | undefined
}

export interface FleetRows {
  readonly nodes: NodeRows
  readonly modes: ModeRow
}

/** The stores and marks of whoever serves requests. */
export interface Storage {
  /** Of the far stores that there are. */
  readonly names: readonly string[]
  /** Memory alone where there is no such far store. */
  of(name: string | undefined): Store
  /** What belongs to a store that `of` gave. */
  partsOf(store: Store): StoreParts
  /** To be waited for before the first request: what was purged before a restart stays so. */
  loadMarks(): Promise<void>
  /** Memory first. */
  figures(): NamedStore[]
  close(): Promise<void>
}

export class Tiers implements Storage {
  readonly #memory: Store
  readonly #tiers = new Map<string, TieredStore>()
  readonly #opened: OpenedStore[] = []
  readonly #missing: NamedStore[] = []
  /** By store: who shares one shares its marks. */
  readonly #parts = new Map<Store, StoreParts>()

  constructor({ clock, memory, farStores, telemetry, retentionMs, onMarks }: TiersOptions) {
    const onChangeOf = (store: string) => onMarks && ((marks: readonly Mark[]) => onMarks(store, marks))
    this.#memory = memory
    this.#parts.set(memory, { marks: new Marks({ clock, retentionMs, onChange: onChangeOf('') }) })
    for (const [name, far] of farStores) {
      if ('state' in far) this.#missing.push({ name: labelOf(name), health: far })
      else {
        const onOperation = telemetry?.storeHook(labelOf(name))
        const { panes, cells, timeoutMs, noticeMs } = far
        this.#opened.push(far)
        const tier = tieredStore({
          ...{ clock, near: memory, far: panes, farTimeoutMs: timeoutMs },
          ...(noticeMs !== undefined && { noticeMs }),
          ...(onOperation && { onOperation }),
        })
        this.#tiers.set(name, tier)
        const marks = new Marks({ clock, retentionMs, cells, onChange: onChangeOf(name) })
        const share = (...what: Parameters<TieredStore['share']>) => tier.share(...what)
        const shared = cells?.capabilities.shared ? cells : undefined
        const claims = shared && new CellClaims({ cells: shared, clock, share })
        const fleet = shared && fleetRows(shared, clock)
        this.#parts.set(tier, { marks, claims, cells, fleet })
      }
    }
  }

  get names(): readonly string[] {
    return [...this.#tiers.keys()]
  }

  of(name: string | undefined): Store {
    return this.#tiers.get(name ?? '') ?? this.#memory
  }

  partsOf(store: Store): StoreParts {
    return this.#parts.get(store)!
  }

  async loadMarks(): Promise<void> {
    await Promise.all([...this.#parts.values()].map(({ marks }) => marks.load()))
  }

  figures(): NamedStore[] {
    const far = [...this.#tiers].map(([name, tier]) => ({ name: labelOf(name), ...tier.farFigures() }))
    return [{ name: 'memory', ...this.#memory.figures?.() }, ...far, ...this.#missing]
  }

  async close(): Promise<void> {
    for (const { marks } of this.#parts.values()) marks.close()
    await Promise.all([...this.#tiers.values()].map((tier) => tier.close()))
    await Promise.all(this.#opened.map((far) => far.close()))
    await this.#memory.close()
  }
}

const fleetRows = (cells: Cells, clock: Clock): FleetRows => ({
  nodes: new NodeRows({ cells, clock }),
  modes: new ModeRow({ cells, clock }),
})

/** A far store may be configured under the name of the memory in front of it. */
const labelOf = (name: string): string => (name === 'memory' ? 'memory-far' : name)
