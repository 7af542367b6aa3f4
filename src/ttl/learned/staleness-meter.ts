/**
 * Measures the share of out-of-date buckets among those served to viewers, and corrects the budget that TTLs are
 * computed from. Per age group, because a group that never changes must not hide one that always does.
 *
 * All state that lasts is sums, halved every 24 hours. Adding the sums of two nodes gives the sums of one node with all
 * samples, in any order. The correction is a function of the sums, so nodes that exchange sums agree on it.
 */
import type { EpochMs } from '../../core/clock.ts'
import { type ClusterSums, clusterInterval, wilson } from './bounds.ts'
import { addSums, type Sign } from './evidence.ts'
import type { MeasuredStaleness, StalenessSample } from './learning.ts'

const minute = 60_000
const hour = 60 * minute

/** The ages from which the groups begin; each ends where the next begins. */
export const stalenessGroups: readonly number[] = [
  Number.NEGATIVE_INFINITY,
  2 * minute,
  10 * minute,
  hour,
  6 * hour,
  24 * hour,
]

export interface GroupStaleness extends MeasuredStaleness {
  readonly fromMs: number
  /** Infinite for the last. */
  readonly toMs: number
}

export const halfLifeMs = 24 * hour

/** Samples of the same ten seconds were answered from mostly the same copies: they are one cluster. */
const clusterMs = 10_000

const smallestFactor = 0.5

/** Fewer stale samples correct nothing. Where a budget of 1 % is kept, it takes about 500 samples to see as many. */
const fewestHits = 5

/**
 * The correction is complete where the low end of the interval is 25 % above the allowed share. It grows in proportion
 * up to there, so that one sample more or less does not switch it on and off.
 */
const fullCorrectionAt = 1.25

/** Where each sum of a group is, counted from the first one of the group. */
const at = {
  clusters: 0,
  draws: 1,
  hits: 2,
  drawsSquared: 3,
  hitsByDraws: 4,
  hitsSquared: 5,
  /** How far stale samples were off. */
  errors: 6,
  /** Samples with a known budget, how many of them were stale, and how many the budgets in force allowed to be. */
  budgeted: 7,
  budgetedHits: 8,
  allowed: 9,
} as const
const width = 10
const size = width * stalenessGroups.length

export class StalenessMeter {
  readonly #own = new Float64Array(size)
  #foreign = new Float64Array(size)
  /** The cluster that is being added to, by group. */
  readonly #open = stalenessGroups.map(() => ({ window: Number.NEGATIVE_INFINITY, draws: 0, hits: 0 }))
  /** The budget last used, by group: applied to samples that do not carry theirs. */
  readonly #budgets: (number | undefined)[] = stalenessGroups.map(() => undefined)
  #decayedTo: EpochMs | undefined

  sample(sample: StalenessSample): void {
    this.decay(sample.at)
    const group = groupOf(sample.ageMs)
    const hit = sample.isStale ? 1 : 0
    // Before the sample is counted: the viewer was served under the correction in force until then.
    this.#countAllowed(group, hit, sample.budget ?? this.#budgets[group])
    this.#countDraw(group, hit, Math.floor(sample.at / clusterMs))
    // Beyond 100 % it no longer matters how far; a true value near 0 would otherwise decide the mean.
    const error = Number.isFinite(sample.error) ? Math.min(1, sample.error) : 1
    if (sample.isStale) this.#add(group, at.errors, error)
  }

  /** The staleness measured in the group that this age lies in. */
  measured(ageMs: number): MeasuredStaleness {
    return this.#measuredIn(groupOf(ageMs))
  }

  /** All groups, from young to old. */
  groups(): readonly GroupStaleness[] {
    return stalenessGroups.map((fromMs, group) => ({
      fromMs,
      toMs: stalenessGroups[group + 1] ?? Number.POSITIVE_INFINITY,
      ...this.#measuredIn(group),
    }))
  }

  /** TTLs at this age are to be computed from the budget times this: from 1/2 to 1, and 1 while nothing speaks against it. */
  factor(ageMs: number, budget: number): number {
    const group = groupOf(ageMs)
    this.#budgets[group] = budget
    return this.#factorIn(group)
  }

  /** Discounts everything for the time since the last call. */
  decay(now: EpochMs): void {
    const since = now - (this.#decayedTo ?? now)
    if (since < 0) return
    this.#decayedTo = now
    const remaining = 0.5 ** (since / halfLifeMs)
    for (let i = 0; i < size; i++) {
      this.#own[i]! *= remaining
      this.#foreign[i]! *= remaining
    }
  }

  /** This node's sums: a copy. */
  sums(): Float64Array {
    return this.#own.slice()
  }

  /** Takes the sums of all other nodes in the place of those before. */
  setForeign(sums: Float64Array): void {
    this.#foreign = isOurs(sums) ? sums.slice() : new Float64Array(size)
  }

  /** Adds sums to this node's own, or takes them out. */
  add(sums: Float64Array, sign: Sign = 1): void {
    if (isOurs(sums)) addSums(this.#own, sums, sign)
  }

  #countDraw(group: number, hit: number, window: number): void {
    const cluster = this.#open[group]!
    // Events of other threads may come late; they belong to a cluster that is over, and are added to the open one.
    if (window > cluster.window) {
      Object.assign(cluster, { window, draws: 0, hits: 0 })
      this.#add(group, at.clusters, 1)
    }
    const { draws, hits } = cluster
    cluster.draws += 1
    cluster.hits += hit
    this.#add(group, at.draws, 1)
    this.#add(group, at.hits, hit)
    this.#add(group, at.drawsSquared, cluster.draws ** 2 - draws ** 2)
    this.#add(group, at.hitsByDraws, cluster.hits * cluster.draws - hits * draws)
    this.#add(group, at.hitsSquared, cluster.hits ** 2 - hits ** 2)
  }

  #countAllowed(group: number, hit: number, budget: number | undefined): void {
    if (budget === undefined) return
    this.#add(group, at.allowed, budget * this.#factorIn(group))
    this.#add(group, at.budgeted, 1)
    this.#add(group, at.budgetedHits, hit)
  }

  #measuredIn(group: number): MeasuredStaleness {
    const { estimate, low, high } = clusterInterval(this.#clusterSums(group))
    const [samples, hits] = [this.#total(group, at.draws), this.#total(group, at.hits)]
    return { estimate, low, high, samples, error: hits > 0 ? this.#total(group, at.errors) / hits : 0 }
  }

  /**
   * Compares stale samples with the number that was allowed under the corrections in force when they were drawn. So the
   * result is how far TTLs miss the budget without a correction, and a correction does not undo itself by its own
   * success.
   */
  #factorIn(group: number): number {
    const [budgeted, allowed] = [this.#total(group, at.budgeted), this.#total(group, at.allowed)]
    if (!(allowed > 0)) return 1
    const { effectiveDraws } = clusterInterval(this.#clusterSums(group))
    const draws = (budgeted * effectiveDraws) / this.#total(group, at.draws)
    const share = this.#total(group, at.budgetedHits) / budgeted
    const hits = share * draws
    if (hits < fewestHits) return 1
    const toAllowed = budgeted / allowed
    return correction(wilson(hits, draws).low * toAllowed, share * toAllowed)
  }

  #clusterSums(group: number): ClusterSums {
    return {
      clusters: this.#total(group, at.clusters),
      draws: this.#total(group, at.draws),
      hits: this.#total(group, at.hits),
      drawsSquared: this.#total(group, at.drawsSquared),
      hitsByDraws: this.#total(group, at.hitsByDraws),
      hitsSquared: this.#total(group, at.hitsSquared),
    }
  }

  #add(group: number, sum: number, value: number): void {
    this.#own[group * width + sum]! += value
  }

  #total(group: number, sum: number): number {
    return this.#own[group * width + sum]! + this.#foreign[group * width + sum]!
  }
}

/**
 * The factor on the budget, from how many times as much as allowed is stale: the low end of that, and the best estimate.
 * While the low end is not above 1, samples do not prove anything against the budget, and it is left alone.
 */
function correction(low: number, estimate: number): number {
  if (!(low > 1)) return 1
  const weight = Math.min(1, (low - 1) / (fullCorrectionAt - 1))
  return Math.max(smallestFactor, 1 - weight * (1 - 1 / estimate))
}

const groupOf = (ageMs: number): number => stalenessGroups.findLastIndex((fromMs) => fromMs <= ageMs)

/** Sums that another version wrote may be others: they are not used. */
const isOurs = (sums: Float64Array): boolean => sums.length === size
