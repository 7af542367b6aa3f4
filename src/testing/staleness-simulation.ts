/**
 * Viewers of rolling windows, the engine as it is shipped with its memory store, and a database that knows what changed when,
 * on a fake clock. Tells how much of what viewers were shown was out of date, and what keeping it fresh cost the database. The
 * same case gives the same run.
 */
import assert from 'node:assert/strict'
import type { Backend, Plan } from '../backends/backend.ts'
import { Budget } from '../core/budget.ts'
import { newDecision } from '../core/decision.ts'
import { IntervalCache } from '../engine/interval-cache.ts'
import type { Answer, CacheRequest, Client } from '../engine/trip.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import { type CellQuery, cellBackend } from './cell-backend.ts'
import { type ChangeModelName, changeModels } from './change-models.ts'
import { bucketMs, ChangingDatabase } from './changing-database.ts'
import { type FakeClock, fakeClock } from './fake-clock.ts'
import { mixSeeds, type Random, seededRandom } from './random.ts'
import { type Shown, StalenessTally } from './staleness-tally.ts'

const hourMs = 3_600_000

export interface StalenessCase {
  readonly model: ChangeModelName
  readonly policy: TtlPolicy
  readonly seed: number
  readonly windowHours: number
  readonly viewers: number
  /** Whether the backend takes several intervals per query. */
  readonly several: boolean
  readonly warmUpHours: number
  readonly measuredHours: number
  readonly refreshMs?: number
  readonly latencyMs?: number
}

export interface HourlyCost {
  queries: number
  buckets: number
}

export interface StalenessRun {
  readonly requests: number
  /** Of every hour, the warm-up included. */
  readonly costs: readonly HourlyCost[]
  readonly tally: StalenessTally
  /** Over the measured hours: by class of age, and per hour. */
  readonly classes: readonly Shown[]
  readonly queriesPerHour: number
  readonly bucketsPerHour: number
}

export function simulateStaleness(options: StalenessCase): Promise<StalenessRun> {
  return new StalenessSimulation(options).run()
}

class StalenessSimulation {
  readonly #case: StalenessCase
  readonly #clock: FakeClock
  readonly #random: Random
  readonly #database: ChangingDatabase
  readonly #backend: Backend<CellQuery>
  readonly #cache: IntervalCache
  readonly #tally: StalenessTally
  readonly #costs: HourlyCost[] = []
  readonly #startMs: number
  #requests = 0
  /** All viewers ask for the same window within a minute. */
  #plan: { readonly to: number; readonly plan: Plan } | undefined

  constructor(options: StalenessCase) {
    this.#case = options
    const { seed, model, windowHours, several, latencyMs = 0 } = options
    this.#random = seededRandom(seed)
    this.#clock = Object.assign(fakeClock(), { random: seededRandom(mixSeeds(seed, 2)) })
    const clock = this.#clock
    this.#startMs = clock.now()
    this.#tally = new StalenessTally(this.#startMs)
    this.#database = new ChangingDatabase({
      ...{ clock, model: changeModels[model], seed: mixSeeds(seed, 1), latencyMs },
      horizonMs: windowHours * hourMs,
    })
    this.#backend = cellBackend({ several })
    const budget = new Budget(1 << 30)
    this.#cache = new IntervalCache({
      ...{ name: 'cells', backend: this.#backend, upstream: this.#database, clock, budget },
      store: memoryStore({ clock, budget, retentionMs: 48 * hourMs, maxBucketsPerShape: 100_000 }),
      policy: options.policy,
      maxAnswerBytes: 1 << 24,
      maxStaleMs: hourMs,
      patienceMs: { slow: 60_000, down: 60_000 },
      storeTimeoutMs: 60_000,
      coalescing: true,
    })
  }

  async run(): Promise<StalenessRun> {
    const { viewers, refreshMs = 10_000, warmUpHours, measuredHours } = this.#case
    for (let viewer = 0; viewer < viewers; viewer++) {
      this.#clock.after(this.#random() * refreshMs, () => this.#refresh(refreshMs))
    }
    const hours = warmUpHours + measuredHours
    for (let hour = 0; hour < hours; hour++) await this.#runHour()
    const measured = this.#costs.slice(warmUpHours)
    const perHour = (of: (cost: HourlyCost) => number) =>
      measured.reduce((sum, cost) => sum + of(cost), 0) / measuredHours
    return {
      ...{ requests: this.#requests, costs: this.#costs, tally: this.#tally },
      classes: this.#tally.classes(warmUpHours, hours),
      queriesPerHour: perHour(({ queries }) => queries),
      bucketsPerHour: perHour(({ buckets }) => buckets),
    }
  }

  async #runHour(): Promise<void> {
    const { queries, buckets } = this.#database
    await this.#clock.advance(hourMs)
    this.#costs.push({
      queries: this.#database.queries - queries,
      buckets: this.#database.buckets - buckets,
    })
  }

  #refresh(refreshMs: number): void {
    this.#clock.after(refreshMs, () => this.#refresh(refreshMs))
    this.#requests++
    const answer = this.#cache.serve(this.#request(), newDecision())
    if (answer instanceof Promise) void answer.then((late) => this.#shown(late))
    else this.#shown(answer)
  }

  #shown(answer: Answer): void {
    assert.ok(answer.kind === 'panes' && answer.panes !== undefined)
    const lastChanges = this.#database.lastChanges('q/')
    this.#tally.add({ panes: answer.panes, now: this.#clock.now(), lastChanges })
  }

  #request(): CacheRequest {
    return {
      ...{ plan: this.#planNow(), identity: '', partition: 'separate', client: patientClient },
      demands: { notBefore: Number.NEGATIVE_INFINITY, onlyIfCached: false },
    }
  }

  #planNow(): Plan {
    const to = (Math.floor(this.#clock.now() / bucketMs) + 1) * bucketMs
    if (this.#plan?.to !== to) this.#plan = { to, plan: this.#planUntil(to) }
    return this.#plan.plan
  }

  #planUntil(to: number): Plan {
    const from = to - this.#case.windowHours * hourMs
    const range = this.#case.several ? `ranges=${from}-${to}` : `from=${from}&to=${to}`
    const search = `q=q&${range}&step=${bucketMs}`
    const query = this.#backend.parse({
      ...{ method: 'GET', path: '/rows', search, headers: [], body: new Uint8Array() },
    })
    assert.ok(query !== undefined && !('bypass' in query))
    const plan = this.#backend.plan(query, this.#clock.now())
    assert.ok(!('bypass' in plan))
    return plan
  }
}

const patientClient: Client = { isGone: false, onGone() {} }
