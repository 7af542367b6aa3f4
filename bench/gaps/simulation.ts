/**
 * Viewers of one rolling window, and their cost to a database: the model of the published rules (buckets of a minute,
 * the published ladder, viewers with random phases), run with the engine's own coverage, gaps and ladder in simulated
 * time.
 */
import { cover } from '../../src/core/coverage.ts'
import { type CoverageRun, gapsOf } from '../../src/core/coverage-runs.ts'
import {
  countOf,
  type Interval,
  type Intervals,
  nothing,
  subtractAll,
  uniteAll,
} from '../../src/core/interval.ts'
import { noMarks } from '../../src/core/mark.ts'
import type { Pane } from '../../src/core/pane.ts'
import { PaneBuilder } from '../../src/core/pane-builder.ts'
import { lapsingIn, type Stored } from '../../src/engine/gaps.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { ladder, publishedLadder } from '../../src/ttl/ladder.ts'
import type { TtlPolicy } from '../../src/ttl/policy.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const grid = { kind: 'cell', step: minute, origin: 0 } as const
const begin = Date.UTC(2026, 0, 1)

export interface Workload {
  readonly viewers: number
  readonly refreshMs?: number
  readonly windowBuckets?: number
  /** From the query until its result can be found. */
  readonly lagMs?: number
  /** A viewer that misses only buckets of queries in progress fetches nothing. */
  readonly coalescing?: boolean
  readonly floorMs?: number
  readonly capMs?: number
  readonly warmUpHours?: number
  readonly hours?: number
}

/** The result of a lookup. */
interface Look extends Stored {
  readonly window: Interval
  readonly runs: readonly CoverageRun[]
}

/** The intervals to fetch, all in one query, where something is missing. */
export type Rule = (look: Look) => Intervals

export const rules = {
  /** The published one: everything from the first bucket that is not fresh. */
  prefix: ({ runs, window }) => [{ from: runs.find(isMissing)!.from, to: window.to }],
  /** Every gap and nothing else, as the intervals of one query. */
  gaps: ({ runs }) => gapsOf(runs),
  /** The engine's rule: every gap, and buckets that are about to lapse. */
  windowpane: ({ runs, window, ...stored }) =>
    uniteAll(gapsOf(runs), lapsingIn({ whole: [window] }, stored, { severalIntervals: true })),
} satisfies Record<string, Rule>

const isMissing = ({ state }: CoverageRun): boolean => state !== 'fresh'

export interface Cost {
  readonly requests: number
  readonly hits: number
  readonly queries: number
  /** In all queries: the number of queries, if each could have one interval only. */
  readonly intervals: number
  readonly buckets: number
  readonly minutes: number
}

export function simulate(workload: Workload, rule: Rule, seed: number): Cost {
  const { viewers, refreshMs = 10 * second, warmUpHours = 6, hours = 12 } = workload
  const random = seededRandom(seed)
  const phases = Array.from({ length: viewers }, () => random() * refreshMs).sort((a, b) => a - b)
  const cache = new SimulatedCache({ ...workload, hours }, rule)
  const measuredFrom = begin + warmUpHours * hour
  const end = begin + hours * hour
  for (let turn = begin; turn < end; turn += refreshMs) {
    for (const phase of phases) cache.ask(Math.floor(turn + phase), turn + phase >= measuredFrom)
  }
  return { ...cache.cost, minutes: (end - measuredFrom) / minute }
}

interface Fetch {
  readonly at: number
  readonly gaps: Intervals
}

/** Clocks of buckets without the bytes. */
class SimulatedCache {
  readonly cost = { requests: 0, hits: 0, queries: 0, intervals: 0, buckets: 0 }
  readonly #rule: Rule
  readonly #stored: Pane
  readonly #windowBuckets: number
  readonly #lagMs: number
  readonly #coalescing: boolean
  readonly #policy: TtlPolicy
  #flights: Fetch[] = []

  constructor(workload: Workload & { readonly hours: number }, rule: Rule) {
    const { windowBuckets = 180, lagMs = 0, coalescing = false, hours } = workload
    const { floorMs = publishedLadder.floorMs, capMs = publishedLadder.capMs } = workload
    this.#rule = rule
    this.#windowBuckets = windowBuckets
    this.#lagMs = lagMs
    this.#coalescing = coalescing
    const published = ladder({ ...publishedLadder, capMs })
    this.#policy = {
      ...published,
      // The model counts from when a bucket can be found; the engine, from before its query was sent.
      ttl: (ageMs) => Math.max(floorMs, published.ttl(ageMs)) + lagMs,
    }
    const interval = { from: begin / minute - windowBuckets, to: begin / minute + hours * 60 + 1 }
    this.#stored = new PaneBuilder(1).finish({ interval, fetchedAt: Number.NaN, slab: Buffer.alloc(0) })
  }

  /** The window ends with the bucket that `now` lies in, which counts as a whole one. */
  ask(now: number, isMeasured: boolean): void {
    this.#land(now)
    const to = Math.floor(now / minute) + 1
    const window = { from: to - this.#windowBuckets, to }
    const rules = { grid, policy: this.#policy, now, notBefore: Number.NEGATIVE_INFINITY, marks: noMarks }
    const panes = [this.#stored]
    const { runs } = cover([window], panes, rules)
    const missing = runs.filter(isMissing)
    const isAsking = missing.length > 0 && !this.#isUnderWay(missing)
    const gaps = isAsking ? this.#rule({ window, runs, panes, rules }) : nothing
    if (isAsking) this.#flights.push({ at: now, gaps })
    this.#land(now)
    if (isMeasured) this.#count(missing.length === 0, gaps)
  }

  #count(isHit: boolean, asked: Intervals): void {
    const { cost } = this
    cost.requests++
    cost.hits += isHit ? 1 : 0
    cost.queries += Math.sign(asked.length)
    cost.intervals += asked.length
    cost.buckets += countOf(asked)
  }

  #isUnderWay(missing: Intervals): boolean {
    if (!this.#coalescing) return false
    let left = missing
    for (const { gaps } of this.#flights) left = subtractAll(left, gaps)
    return left.length === 0
  }

  /** Buckets fetched at least one lag ago can be found from now on; flights land in the order in which they began. */
  #land(now: number): void {
    const landing = this.#flights.filter(({ at }) => at + this.#lagMs <= now)
    if (landing.length === 0) return
    this.#flights = this.#flights.filter(({ at }) => at + this.#lagMs > now)
    const { body } = this.#stored
    const shift = body.clocksAt - body.from
    for (const { at, gaps } of landing) {
      for (const { from, to } of gaps) body.f64.fill(at, from + shift, to + shift)
    }
  }
}
