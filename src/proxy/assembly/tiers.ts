/** The stores of one process: its memory, and per far store the memory in front of it. */
import type { Clock } from '../../core/clock.ts'
import type { Mark } from '../../core/mark.ts'
import { CellClaims, type ClaimCounters, leaseResults, noLeases } from '../../engine/cell-claims.ts'
import type { Claims } from '../../engine/claims.ts'
import { Marks } from '../../engine/marks.ts'
import type { Cells } from '../../stores/cells.ts'
import type { StoreCondition } from '../../stores/figures.ts'
import { guardedCells, StoreGuard } from '../../stores/guard.ts'
import type { OpenedStore } from '../../stores/kind.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import type { Store } from '../../stores/store.ts'
import { type TieredStore, tieredStore } from '../../stores/tiered.ts'
import type { NamedStore } from '../../telemetry/store-families.ts'
import type { Observer } from '../../telemetry/telemetry.ts'
import { ModeRow } from '../fleet/mode-row.ts'
import { NodeRows } from '../fleet/node-rows.ts'

/** A configured far store: open, with how it is used, or why there is none. */
export type FarStore = { readonly engine: string } & ((OpenedStore & FarTerms) | StoreCondition)

export interface FarTerms {
  /** How long one operation of it may take. */
  readonly timeoutMs: number
  /** See `TieredStoreOptions`. */
  readonly noticeMs?: number | undefined
  /** See `CellClaimsOptions`. */
  readonly leaseMs?: number | undefined
}

export interface TiersOptions {
  readonly clock: Clock
  readonly memory: Store
  /** By their names in the configuration. */
  readonly farStores: ReadonlyMap<string, FarStore>
  readonly telemetry: Observer | undefined
  /** How long marks are kept. */
  readonly retentionMs: number
  /** The memory of object bodies in the cells of memory; see `memoryCells`. */
  readonly objectBytes?: number
  /** Called with the marks of a store that are in force; '' is memory alone. */
  readonly onMarks?: ((store: string, marks: readonly Mark[]) => Promise<void>) | undefined
}

export interface StoreParts {
  readonly marks: Marks
  /** Where others, threads or nodes, fetch for it. */
  readonly claims?: Claims | undefined
  /** Those of memory are lost with the process. */
  readonly cells?: Cells | undefined
  /**
   * For learned evidence, where the store outlives this process or is shared; only in the thread that has the store.
   */
  readonly evidenceCells?: Cells | undefined
  /** The messages of nodes that share the store; only in the thread that has the store. */
  readonly fleet?: FleetRows | undefined
}

export interface FleetRows {
  readonly nodes: NodeRows
  readonly modes: ModeRow
}

/** The stores and marks of a request handler. A thread with views of another thread's stores has the first three members only. */
export interface Storage {
  /** Of the far stores that there are. */
  readonly names: readonly string[]
  /** Memory alone where there is no such far store. */
  of(name: string | undefined): Store
  /** The parts of a store that `of` returned. */
  partsOf(store: Store): StoreParts
  /** Await before the first request: purges from before a restart stay in force. */
  loadMarks?(): Promise<void>
  /** Adds far stores that were opened while running. Resolves when their marks are known. */
  add?(farStores: ReadonlyMap<string, FarStore>): Promise<void>
  /** Closes a far store that is no longer used. */
  remove?(name: string): Promise<void>
  /** Memory first. */
  figures?(): NamedStore[]
  /** The results of the claims of this process, over all stores. */
  leases?(): Readonly<ClaimCounters>
  close?(): Promise<void>
}

export class Tiers implements Storage {
  readonly #memory: Store
  readonly #tiers = new Map<string, FarTier>()
  readonly #missing: NamedStore[] = []
  /** Of stores that were removed: counters do not go back. */
  readonly #pastLeases: ClaimCounters = { ...noLeases }
  /** By store: backends that share one share its marks. */
  readonly #parts = new Map<Store, StoreParts>()
  readonly #options: TiersOptions

  constructor(options: TiersOptions) {
    const { clock, memory, farStores, retentionMs, objectBytes } = options
    this.#options = options
    this.#memory = memory
    this.#parts.set(memory, {
      marks: new Marks({ clock, retentionMs, onChange: this.#onChangeOf('') }),
      cells: memoryCells({ clock, ...(objectBytes !== undefined && { maxBytes: objectBytes }) }),
    })
    for (const [name, far] of farStores) {
      if ('state' in far) {
        const { engine, ...health } = far
        this.#missing.push({ name: labelOf(name), engine, health })
      } else this.#add(name, far)
    }
  }

  #add(name: string, far: Extract<FarStore, OpenedStore>): void {
    const { clock, memory, telemetry, retentionMs } = this.#options
    const { panes, cells, timeoutMs, noticeMs, leaseMs, engine } = far
    const guard = new StoreGuard({
      ...{ clock, timeoutMs, onOperation: telemetry?.storeHook(labelOf(name)) },
      onTrouble: (trouble) =>
        telemetry?.log.change(`store ${name}`, stateOf(trouble), { detail: trouble?.detail }),
    })
    // No request waits for marks, evidence and node rows: they have more time.
    const patientCells = cells && guardedCells(cells, guard, Math.max(patientMs, timeoutMs))
    const marks = new Marks({
      ...{ clock, retentionMs, cells: patientCells, breaker: guard.breaker },
      onChange: this.#onChangeOf(name),
    })
    const isTrusted = () => marks.isCurrent
    const tier = tieredStore({
      ...{ clock, near: memory, far: panes, guard, isTrusted },
      ...(noticeMs !== undefined && { noticeMs }),
    })
    const guarded = cells && guardedCells(cells, guard)
    const share = (...what: Parameters<TieredStore['share']>) => tier.share(...what)
    const claims = guarded?.capabilities.shared
      ? new CellClaims({ cells: guarded, clock, timeoutMs, leaseMs, share })
      : undefined
    this.#tiers.set(name, { tier, engine, claims, opened: far })
    const { shared, durable } = patientCells?.capabilities ?? { shared: false, durable: false }
    const fleet = patientCells && shared ? fleetRows(patientCells, clock) : undefined
    const evidenceCells = shared || durable ? patientCells : undefined
    this.#parts.set(tier, { marks, claims, cells: guarded, evidenceCells, fleet })
  }

  #onChangeOf(store: string): ((marks: readonly Mark[]) => Promise<void>) | undefined {
    const { onMarks } = this.#options
    return onMarks && ((marks) => onMarks(store, marks))
  }

  get names(): readonly string[] {
    return [...this.#tiers.keys()]
  }

  of(name: string | undefined): Store {
    return this.#tiers.get(name ?? '')?.tier ?? this.#memory
  }

  partsOf(store: Store): StoreParts {
    return this.#parts.get(store)!
  }

  async loadMarks(): Promise<void> {
    await Promise.all([...this.#parts.values()].map(({ marks }) => marks.load()))
  }

  figures(): NamedStore[] {
    const far = [...this.#tiers].map(([name, { tier, engine }]) => ({
      ...{ name: labelOf(name), engine },
      ...tier.farFigures(),
    }))
    return [{ name: 'memory', engine: 'memory', ...this.#memory.figures?.() }, ...far, ...this.#missing]
  }

  leases(): Readonly<ClaimCounters> {
    const total = { ...this.#pastLeases }
    for (const { claims } of this.#tiers.values()) addLeases(total, claims)
    return total
  }

  async add(farStores: ReadonlyMap<string, FarStore>): Promise<void> {
    const added = [...farStores].flatMap(([name, far]) => ('state' in far ? [] : [[name, far] as const]))
    for (const [name, far] of added) this.#add(name, far)
    await Promise.all(added.map(([name]) => this.partsOf(this.of(name)).marks.load()))
  }

  async remove(name: string): Promise<void> {
    const far = this.#tiers.get(name)
    if (far === undefined) return
    this.#tiers.delete(name)
    addLeases(this.#pastLeases, far.claims)
    this.#parts.get(far.tier)?.marks.close()
    this.#parts.delete(far.tier)
    await far.tier.closeFar()
    await far.opened.close()
  }

  async close(): Promise<void> {
    for (const { marks } of this.#parts.values()) marks.close()
    const tiers = [...this.#tiers.values()]
    await Promise.all(tiers.map(({ tier }) => tier.close()))
    await Promise.all(tiers.map(({ opened }) => opened.close()))
    await this.#memory.close()
  }
}

interface FarTier {
  readonly tier: TieredStore
  readonly engine: string
  readonly claims: CellClaims | undefined
  readonly opened: OpenedStore
}

function addLeases(total: ClaimCounters, claims: CellClaims | undefined): void {
  if (claims !== undefined) for (const result of leaseResults) total[result] += claims.counters[result]
}

const fleetRows = (cells: Cells, clock: Clock): FleetRows => ({
  nodes: new NodeRows({ cells, clock }),
  modes: new ModeRow(cells),
})

const stateOf = (trouble: StoreCondition | undefined): { readonly is: string; readonly isGood: boolean } => ({
  is: trouble === undefined ? 'is used again' : 'is left alone',
  isGood: trouble === undefined,
})

/** The timeout of operations that no request waits for. */
const patientMs = 2000

/** A far store may be configured under the name of the memory in front of it. */
const labelOf = (name: string): string => (name === 'memory' ? 'memory-far' : name)
