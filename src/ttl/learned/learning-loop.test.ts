/** The learner in a loop with data that change: one shape, a viewer who refreshes, and no engine in between. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Random, seededRandom } from '../../testing/random.ts'
import type { TtlPolicy } from '../policy.ts'
import { Learner } from './learner.ts'
import type { LearnedTerms } from './learning.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const refreshMs = 10 * second
const terms: LearnedTerms = { budget: 0.05, floorMs: 5 * second, capMs: 24 * hour, settledAgeMs: 11 * minute }

/** Changes per second at an age in seconds, and at a time since the start. */
type Model = (age: number, now: number) => number

class Loop {
  readonly #model: Model
  readonly #buckets: number
  readonly #random: Random
  readonly #start = Date.UTC(2026, 0, 1)
  #now = this.#start
  readonly #learner = new Learner({ clock: { now: () => this.#now }, lapsesOnEpochs: false })
  readonly #shape = { key: 'a', sources: ['up'], grid: { step: minute, origin: 0 } }
  readonly #changedAt = new Map<number, number>()
  readonly #fetchedAt = new Map<number, number>()
  fetched = 0
  /** By age group: 2 to 10 min, up to an hour, and older. */
  shown = [0, 0, 0]
  stale = [0, 0, 0]

  constructor(model: Model, { seed = 1, buckets = 180 } = {}) {
    this.#model = model
    this.#buckets = buckets
    this.#random = seededRandom(seed)
  }

  get policy(): TtlPolicy {
    return this.#learner.policyFor(terms, this.#shape)
  }

  run(ms: number): this {
    this.fetched = 0
    this.shown = [0, 0, 0]
    this.stale = [0, 0, 0]
    for (let passed = 0; passed < ms; passed += refreshMs) this.#refresh()
    return this
  }

  /** Shares of shown buckets that were out of date, by age group. */
  get staleness(): number[] {
    return this.shown.map((shown, group) => this.stale[group]! / shown)
  }

  #refresh(): void {
    this.#now += refreshMs
    const { policy } = this
    const missing: number[] = []
    const last = Math.floor(this.#now / minute) * minute
    for (let i = 0; i < this.#buckets; i++) {
      const end = last - i * minute
      this.#change(end)
      const fetchedAt = this.#fetchedAt.get(end)
      if (fetchedAt === undefined || this.#now >= fetchedAt + policy.ttl(fetchedAt - end)) missing.push(end)
      else this.#count(end, fetchedAt)
    }
    this.#fetch(missing)
  }

  #change(end: number): void {
    const rate = this.#model((this.#now - end) / second, (this.#now - this.#start) / second)
    if (this.#random() < -Math.expm1((-rate * refreshMs) / second)) this.#changedAt.set(end, this.#now)
  }

  #count(end: number, fetchedAt: number): void {
    const age = this.#now - end
    if (age < 2 * minute) return
    const group = age < 10 * minute ? 0 : age < hour ? 1 : 2
    this.shown[group]!++
    if ((this.#changedAt.get(end) ?? 0) > fetchedAt) this.stale[group]!++
  }

  #fetch(missing: readonly number[]): void {
    const known = missing.filter((end) => this.#fetchedAt.has(end))
    this.#learner.observe({
      kind: 'refetch',
      shape: this.#shape,
      at: this.#now,
      oldAges: Float64Array.from(known, (end) => this.#fetchedAt.get(end)! - end),
      newAges: Float64Array.from(known, (end) => this.#now - end),
      changed: Uint8Array.from(known, (end) =>
        (this.#changedAt.get(end) ?? 0) > this.#fetchedAt.get(end)! ? 1 : 0,
      ),
    })
    this.fetched += missing.length
    for (const end of missing) {
      this.#fetchedAt.set(end, this.#now)
      // Buckets that were fetched just now are shown as well.
      this.#count(end, this.#now)
    }
  }
}

const models: Record<string, Model> = {
  constant: (age) => (age < 120 ? 0.05 : 1 / 7200),
  exponential: (age) => 0.0414 * Math.exp(-age / 86.56),
  pareto: (age) => 0.5 / Math.max(age, 30),
}

for (const [name, model] of Object.entries(models)) {
  test(`the budget is kept at every age: ${name}`, () => {
    const loop = new Loop(model).run(8 * hour).run(16 * hour)
    for (const [group, share] of loop.staleness.entries()) {
      assert.ok(share <= 1.2 * terms.budget, `${group}: ${share}`)
    }
    // And it is made use of.
    assert.ok(Math.max(...loop.staleness) > 0.5 * terms.budget, `${loop.staleness}`)
  })
}

test('data that never changes is hardly fetched again', () => {
  const loop = new Loop((age) => (age < 120 ? 0.05 : 0)).run(8 * hour).run(8 * hour)
  assert.deepEqual(loop.staleness, [0, 0, 0])
  // Of the buckets of an hour, some are fetched while they are young: those do not count.
  const young = 60 * 3 * 6
  assert.ok(loop.fetched / 8 < young * 1.1, `${loop.fetched / 8}`)
})

test('a rate that rises twentyfold is met within three TTLs', () => {
  const rise = 16 * 3600
  const loop = new Loop((age, now) => (age < 120 ? 0.05 : (now < rise ? 1 : 20) / 86_400))
  const before = loop.run(rise * second).policy.ttl(hour)
  assert.ok(before > hour)
  loop.run(3 * before).run(2 * hour)
  for (const share of loop.staleness) assert.ok(share <= 1.2 * terms.budget, `${share}`)
})

test('a rate that falls gives longer TTLs with the half-life of the evidence', () => {
  const fall = 8 * 3600
  const loop = new Loop((age, now) => (age < 120 ? 0.05 : (now < fall ? 20 : 1) / 86_400))
  const before = loop.run(fall * second).policy.ttl(20 * minute)
  // Six hours, at this age.
  const after = loop.run(6 * hour).policy.ttl(20 * minute)
  assert.ok(after > 1.5 * before && after < 3 * before, `${before} ${after}`)
})
