/**
 * Viewers of rolling windows, the engine as it is shipped with its memory store, and a database that records every
 * change, on a fake clock. Measures the share of served buckets that were out of date, and the cost of freshness to the
 * database. The same case gives the same run.
 */
import assert from 'node:assert/strict'
import type { Backend, Plan } from '../../src/backends/backend.ts'
import { Budget } from '../../src/core/budget.ts'
import { newDecision } from '../../src/core/decision.ts'
import { IntervalCache } from '../../src/engine/interval-cache.ts'
import { Marks } from '../../src/engine/marks.ts'
import type { Answer } from '../../src/engine/trip.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type CellQuery, cellBackend } from '../../src/testing/cell-backend.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { mixSeeds, type Random, seededRandom } from '../../src/testing/random.ts'
import { Learner } from '../../src/ttl/learned/learner.ts'
import type { TtlPolicy } from '../../src/ttl/policy.ts'
import { changeModels } from './change-models.ts'
import { bucketMs, ChangingDatabase } from './changing-database.ts'
import { patientClient, planOf, requestFor, rowsRequest } from './rig-requests.ts'
import type { HourlyCost, StalenessCase, StalenessRun } from './staleness-case.ts'
import { policyFrom } from './staleness-policies.ts'
import { type CountedCohort, figuresOf } from './staleness-report.ts'
import { checkText, StalenessTally } from './staleness-tally.ts'

const hourMs = 3_600_000
const refreshMs = 10_000

interface Cohort extends CountedCohort {
  readonly policy: TtlPolicy
}

interface Panel {
  readonly cohort: Cohort
  readonly source: string
  readonly name: string
  /** All viewers of a panel request the same window within a minute. */
  asked?: { readonly to: number; readonly plan: Plan }
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
  readonly #learner: Learner
  readonly #cache: IntervalCache
  readonly #cohorts = new Map<string, Cohort>()
  readonly #panels: readonly Panel[]
  readonly #costs: HourlyCost[] = []
  readonly #startMs: number
  #requests = 0

  constructor(options: StalenessCase) {
    this.#case = options
    const { seed, models, windowHours, several, latencyMs = 0 } = options
    this.#random = seededRandom(seed)
    this.#clock = Object.assign(fakeClock(), { random: seededRandom(mixSeeds(seed, 2)) })
    const clock = this.#clock
    this.#startMs = clock.now()
    this.#database = new ChangingDatabase({
      ...{ clock, seed: mixSeeds(seed, 1), latencyMs, horizonMs: windowHours * hourMs },
      modelOf: (source) => changeModels[models[Number(source)]!],
    })
    this.#panels = Array.from({ length: options.panels ?? 1 }, (_, i) => this.#panel(i))
    this.#backend = cellBackend({ several })
    this.#learner = new Learner({ clock, lapsesOnEpochs: !several })
    const budget = new Budget(1 << 30)
    const retentionMs = 48 * hourMs
    const marks = new Marks({ clock, retentionMs, cells: undefined, breaker: undefined })
    this.#cache = new IntervalCache({
      ...{ name: 'cells', backend: this.#backend, upstream: this.#database, clock, budget },
      store: memoryStore({ clock, budget, retentionMs, maxBucketsPerShape: 100_000 }),
      policy: this.#panels[0]!.cohort.policy,
      learning: this.#learner,
      marks: marks.of('cells'),
      mark: (mark) => marks.add(mark),
      maxAnswerBytes: 1 << 24,
      maxStaleMs: hourMs,
      // A request that waits for the database gets the database's response.
      patienceMs: { slow: hourMs, down: hourMs },
      storeTimeoutMs: 60_000,
      coalescing: true,
    })
  }

  async run(): Promise<StalenessRun> {
    const { viewers, warmUpHours, measuredHours } = this.#case
    for (let viewer = 0; viewer < viewers; viewer++) {
      const panel = this.#panels[viewer % this.#panels.length]!
      const delay = panel.cohort.fromHour * hourMs + this.#random() * refreshMs
      this.#clock.after(delay, () => this.#refresh(panel))
    }
    for (let hour = 0; hour < warmUpHours + measuredHours; hour++) await this.#runHour()
    const figures = figuresOf({
      ...{ case: this.#case, requests: this.#requests, costs: this.#costs },
      cohorts: [...this.#cohorts.values()],
      staleness: this.#learner.staleness(),
    })
    return { ...figures, curve: this.#curve() }
  }

  #panel(index: number): Panel {
    const { models, policies, several, panels = 1, late } = this.#case
    const spec = policies[index % policies.length]!
    const source = Math.floor(index / policies.length) % models.length
    const model = models[source]!
    const fromHour = late !== undefined && index >= panels - late.panels ? late.fromHour : 0
    const id = JSON.stringify([model, spec, fromHour])
    let cohort = this.#cohorts.get(id)
    if (cohort === undefined) {
      const policy = policyFrom(spec, { model: changeModels[model], several })
      cohort = { model, spec, policy, fromHour, tally: new StalenessTally(this.#startMs) }
      this.#cohorts.set(id, cohort)
    }
    return { cohort, source: String(source), name: String(index) }
  }

  #curve(): StalenessRun['curve'] {
    const terms = this.#panels.find(({ cohort }) => cohort.policy.learns)?.cohort.policy.learns
    return terms === undefined ? [] : this.#learner.report(terms)
  }

  async #runHour(): Promise<void> {
    const { queries, buckets } = this.#database
    await this.#clock.advance(hourMs)
    this.#costs.push({
      queries: this.#database.queries - queries,
      buckets: this.#database.buckets - buckets,
    })
  }

  #refresh(panel: Panel): void {
    this.#clock.after(refreshMs, () => this.#refresh(panel))
    this.#requests++
    const { policy } = panel.cohort
    const request = { ...requestFor(this.#planNow(panel)), client: patientClient, policy }
    const answer = this.#cache.serve(request, newDecision())
    if (answer instanceof Promise) void answer.then((late) => this.#shown(panel, late))
    else this.#shown(panel, answer)
  }

  #shown({ cohort, source, name }: Panel, answer: Answer): void {
    assert.ok(answer.kind === 'panes' && answer.panes !== undefined)
    const served = {
      ...{ panes: answer.panes, now: this.#clock.now() },
      ...this.#database.truthOf(source, name),
    }
    cohort.tally.add(served)
    if (this.#case.checksText) checkText(served, answer.body)
  }

  #planNow(panel: Panel): Plan {
    const to = (Math.floor(this.#clock.now() / bucketMs) + 1) * bucketMs
    if (panel.asked?.to !== to) panel.asked = { to, plan: this.#planUntil(panel, to) }
    return panel.asked.plan
  }

  #planUntil({ source, name }: Panel, to: number): Plan {
    const from = to - this.#case.windowHours * hourMs
    const range = this.#case.several ? `ranges=${from}-${to}` : `from=${from}&to=${to}`
    const search = `q=${source}&panel=${name}&${range}&step=${bucketMs}`
    return planOf(this.#backend, rowsRequest(search), this.#clock.now())
  }
}
