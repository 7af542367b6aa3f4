/** An interval cache with everything around it faked: clock, database and client. For tests of the engine. */
import type { Backend, Plan } from '../../src/backends/backend.ts'
import { Budget } from '../../src/core/budget.ts'
import type { EpochMs } from '../../src/core/clock.ts'
import { type Decision, newDecision } from '../../src/core/decision.ts'
import { CellClaims } from '../../src/engine/cell-claims.ts'
import type { CostMeter } from '../../src/engine/cost.ts'
import type { ExplainedRequest, Explanation } from '../../src/engine/explain/explain.ts'
import { IntervalCache } from '../../src/engine/interval-cache.ts'
import type { BackgroundCounts } from '../../src/engine/learning/counts.ts'
import type { Sampling } from '../../src/engine/learning/sampling.ts'
import { Marks } from '../../src/engine/marks.ts'
import { Purge } from '../../src/engine/purge/purge.ts'
import { ShadowLog } from '../../src/engine/shadow/log.ts'
import type { Answer, Client, Demands, IntervalCacheOptions, TrailingEmpty } from '../../src/engine/trip.ts'
import type { Cells } from '../../src/stores/cells.ts'
import { guardedCells, StoreGuard } from '../../src/stores/guard.ts'
import { memoryCells } from '../../src/stores/memory/cells.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import type { Store } from '../../src/stores/store.ts'
import { type TieredStore, tieredStore } from '../../src/stores/tiered.ts'
import { type CellQuery, cellBackend } from '../../src/testing/cell-backend.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import type { TtlPolicy } from '../../src/ttl/policy.ts'
import { FakeDatabase, type FakeDatabaseOptions } from './fake-database.ts'
import { ListeningTarget } from './listening-target.ts'
import { patientClient, planOf, requestFor, rowsRequest, textOf } from './rig-requests.ts'

export const minuteMs = 60_000

/** Of the cache, where they differ from those of the rig. `budget` is shared with the wrapped store. */
type CacheOption =
  | 'coalescing'
  | 'maxStaleMs'
  | 'patienceMs'
  | 'backlog'
  | 'budget'
  | 'claims'
  | 'upstream'
  | LearningOption
type LearningOption = 'learning' | 'refreshesAhead' | 'probes'

export interface RigOptions extends Partial<Pick<IntervalCacheOptions, CacheOption>> {
  readonly valueAt?: FakeDatabaseOptions['valueAt']
  /** Wraps the memory store, to let it fail, or to put another behind it. */
  readonly wrap?: (store: Store) => Store
  /** Where marks are kept. */
  readonly cells?: Cells
  /** Of another rig: a restart at the same time. */
  readonly clock?: FakeClock
  /** The backend takes ranges; see ranges-rig.ts. */
  readonly several?: boolean
  /** And parts of cells may be kept. */
  readonly keepsParts?: boolean
  /** Behind memory, perhaps shared with other rigs; with its cells come marks and claims. */
  readonly far?: Store
  /** Shared with other rigs. */
  readonly database?: FakeDatabase
  readonly trailingEmpty?: TrailingEmpty
}

/** The far tier of every rig without one of its own: whole suites run again over a far tier. */
export const rigDefaults: { far?: (clock: FakeClock) => Store } = {}

/** A store with cells that several rigs can have behind their memory, each through an `asynchronous` of its own. */
export function sharedStore(clock: FakeClock): Store {
  const budget = new Budget(256 * 1024 * 1024)
  const memory = memoryStore({ clock, budget, retentionMs, maxBucketsPerShape: 100_000 })
  return Object.assign(memory, { cells: memoryCells({ clock }) })
}

const retentionMs = 86_400_000

export interface Served {
  readonly answer: Answer
  readonly decision: Decision
  /** The body, where the answer has panes. */
  readonly text: string
}

export class EngineRig {
  readonly clock: FakeClock
  readonly database: FakeDatabase
  /** The policy in force; may be exchanged at any time. */
  policy: TtlPolicy = ladder()
  readonly budget: Budget
  readonly shadowLog: ShadowLog
  readonly store: Store
  /** Where there is a far tier. */
  readonly tiered: TieredStore | undefined
  readonly guard: StoreGuard | undefined
  readonly claims: CellClaims | undefined
  readonly marks: Marks
  readonly purge: Purge
  readonly options: IntervalCacheOptions
  readonly #backend: Backend<CellQuery>
  readonly #cache: IntervalCache
  readonly #trailingEmpty: TrailingEmpty | undefined

  constructor(options: RigOptions = {}) {
    const { clock = fakeClock(), cells, several = false, keepsParts = false } = options
    const { budget = new Budget(256 * 1024 * 1024) } = options
    this.budget = budget
    this.#backend = cellBackend({ several, keepsParts })
    this.clock = clock
    this.#trailingEmpty = options.trailingEmpty
    this.shadowLog = new ShadowLog({ clock, budget })
    const memory = memoryStore({ clock, budget, retentionMs, maxBucketsPerShape: 100_000 })
    const far = options.far ?? (options.wrap || cells ? undefined : rigDefaults.far?.(clock))
    this.guard = far && new StoreGuard({ clock, timeoutMs: 250 })
    const farCells = far?.cells && guardedCells(far.cells, this.guard!)
    this.tiered =
      far &&
      tieredStore({
        ...{ clock, near: memory, far, guard: this.guard! },
        isTrusted: () => this.marks.isCurrent,
      })
    this.store = this.tiered ?? options.wrap?.(memory) ?? memory
    this.claims = farCells && this.tiered && cellClaims(this.tiered, farCells, clock)
    const { breaker } = this.guard ?? {}
    this.marks = new Marks({ clock, retentionMs, cells: cells ?? farCells, breaker })
    this.purge = new Purge(clock, [{ backend: 'cells', store: this.store, marks: this.marks }])
    this.database = options.database ?? new FakeDatabase({ clock, valueAt: options.valueAt })
    const claims = options.claims ?? this.claims
    this.options = {
      name: 'cells',
      backend: this.#backend,
      store: this.store,
      marks: this.marks.of('cells'),
      policy: policyOf(this),
      upstream: options.upstream ?? this.database,
      clock,
      budget,
      backlog: options.backlog,
      maxAnswerBytes: 1 << 20,
      maxStaleMs: options.maxStaleMs ?? 3_600_000,
      patienceMs: options.patienceMs ?? { slow: 10_000, down: 1000 },
      storeTimeoutMs: 1_000,
      shadowLog: this.shadowLog,
      ...(claims && { claims }),
      coalescing: options.coalescing ?? true,
      learning: options.learning,
      refreshesAhead: options.refreshesAhead ?? true,
      mark: (mark) => this.marks.add(mark),
      probes: options.probes,
    }
    this.#cache = new IntervalCache(this.options)
  }

  /** How queries ended that no client waited for. */
  get background(): BackgroundCounts {
    return this.#cache.background
  }

  /** The start of the cell that contains now. */
  get openCell(): EpochMs {
    return Math.floor(this.clock.now() / minuteMs) * minuteMs
  }

  /** Requests `cells` cells of a minute, the last of which ends at `to`. */
  ask(cells: number, to = this.openCell + minuteMs, how: AskOptions = {}): Promise<Served> {
    return this.serve(this.plan(to - cells * minuteMs, to), how)
  }

  async serve(plan: Plan, how: AskOptions = {}): Promise<Served> {
    const decision = newDecision()
    const { client = patientClient, target, meter } = how
    const trailingEmpty = this.#trailingEmpty
    const request = { ...askedAs(plan, how), client, meter, trailingEmpty, ...(target && { target }) }
    const answer = await this.#cache.serve(request, decision)
    return { answer, decision, text: textOf(answer) }
  }

  /** As `ask`, in shadow mode: `text` is the text streamed to the client. The comparison is over, too. */
  shadow(cells: number, to = this.openCell + minuteMs, how: AskOptions = {}): Promise<Served> {
    return this.shadowPlan(this.plan(to - cells * minuteMs, to), how)
  }

  async shadowPlan(plan: Plan, how: AskOptions = {}): Promise<Served> {
    const decision = newDecision()
    const target = how.target ?? new ListeningTarget()
    const asked = { ...askedAs(plan, how), trailingEmpty: this.#trailingEmpty }
    const request = { ...asked, client: how.client ?? patientClient, target }
    const answer = await this.#cache.shadow(request, decision)
    await this.clock.advance(0)
    return { answer, decision, text: target.text }
  }

  /** Explains the request that `ask` would send. */
  explain(cells: number, to = this.openCell + minuteMs, how: AskOptions = {}): Promise<Explanation> {
    return this.explainPlan(this.plan(to - cells * minuteMs, to), how)
  }

  explainPlan(plan: Plan, how: AskOptions = {}): Promise<Explanation> {
    return this.#cache.explain(askedAs(plan, how))
  }

  get sampling(): Sampling {
    return this.#cache.sampling
  }

  /** Sends a request, and returns at once: `served` is set when the answer is there. Time may be moved meanwhile. */
  async begin(cells: number): Promise<{ served: Served | undefined }> {
    const look: { served: Served | undefined } = { served: undefined }
    void this.ask(cells).then((served) => {
      look.served = served
    })
    // The database is queried a few promises later, and that must be before any time passes.
    await this.clock.advance(0)
    return look
  }

  plan(from: EpochMs, to: EpochMs): Plan {
    return this.planOf(`q=up&from=${from}&to=${to}&step=${minuteMs}`)
  }

  planOf(search: string): Plan {
    return planOf(this.#backend, rowsRequest(search), this.clock.now())
  }

  /** The database's own response. */
  truth(cells: number, to = this.openCell + minuteMs): string {
    return this.database.truth(to - cells * minuteMs, to, minuteMs)
  }
}

const cellClaims = (store: TieredStore, cells: Cells, clock: FakeClock): CellClaims =>
  new CellClaims({ cells, clock, timeoutMs: 250, share: (...what) => store.share(...what) })

export const storeWith = (store: Store, replaced: Partial<Store>): Store => ({
  name: store.name,
  record: (key) => store.record(key),
  read: (key, interval, stale) => store.read(key, interval, stale),
  write: (key, entry) => store.write(key, entry),
  remove: (key, interval, fetchedUntil) => store.remove(key, interval, fetchedUntil),
  shapes: () => store.shapes(),
  close: () => store.close(),
  ...replaced,
})

export interface AskOptions {
  readonly demands?: Partial<Demands>
  readonly identity?: string
  readonly client?: Client
  /** Where a full miss, and whatever is shadowed, is streamed to. */
  readonly target?: ListeningTarget
  /** Charged for its query. */
  readonly meter?: CostMeter
}

const askedAs = (plan: Plan, { identity = '', demands }: AskOptions): ExplainedRequest => {
  const request = requestFor(plan)
  return { ...request, identity, demands: { ...request.demands, ...demands } }
}

/** Reads the rig at every use: it holds the policy in force. */
const policyOf = (rig: { policy: TtlPolicy }): TtlPolicy =>
  new Proxy({ name: 'exchangeable' } as TtlPolicy, {
    get: (own, key) => Reflect.get(own, key) ?? Reflect.get(rig.policy, key),
  })
