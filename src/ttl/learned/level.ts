/** The belief of one level (a shape, a source, or a backend) about the data, given that of its parent. */
import type { EpochMs } from '../../core/clock.ts'
import { ladder } from '../ladder.ts'
import { normalizedTtl } from '../staleness-budget.ts'
import { ageBorders } from './age-classes.ts'
import { invert } from './age-curve.ts'
import { decaySums, Evidence, enoughChanges, type Sign } from './evidence.ts'
import type { LearnedTerms, RateSource } from './learning.ts'

/** TTLs come from this one-sided 80 % bound: point estimates exceed the budget, and 95 % costs twice as much for little. */
export const oneSided80 = 0.8416212335729143

const hour = 3_600_000
/** Young buckets teach much, so that little has to be remembered. For old ones it must span some periods of corrections. */
const halfLives = ageBorders.map((age) => (age < 3_000_000 ? 6 * hour : 24 * hour))
/** Evidence spans this many refetches of a bucket, with short and long TTLs alike. */
const rememberedTtls = 8

/** One entry per age class. */
export interface Belief {
  readonly rates: Float64Array
  readonly uppers: Float64Array
  readonly origins: readonly RateSource[]
  readonly observations: Float64Array
}

/** Sums that are decayed up to a time. */
export interface DatedSums {
  readonly at: EpochMs
  readonly sums: Float64Array
}

const publishedTtls = ageBorders.map(ladder().ttl)

/** Rates at which the TTLs of the published ladder would be right: the belief without any evidence. */
export function priorBelief(budget: number): Belief {
  const rates = publishedTtls.map((ttl) => normalizedTtl(budget) / ttl)
  return {
    rates,
    uppers: rates,
    origins: Array.from(rates, () => 'prior'),
    observations: new Float64Array(rates.length),
  }
}

/** A shape that depends on several sources changes at least as often as the source that changes most. */
export function mostChanging(beliefs: readonly Belief[]): Belief {
  return beliefs.reduce((most, belief) => {
    const pick = (from: (of: Belief) => Float64Array) =>
      from(most).map((value, at) => (belief.uppers[at]! > most.uppers[at]! ? from(belief)[at]! : value))
    return {
      rates: pick((of) => of.rates),
      uppers: pick((of) => of.uppers),
      observations: pick((of) => of.observations),
      origins: most.origins.map((origin, at) =>
        belief.uppers[at]! > most.uppers[at]! ? belief.origins[at]! : origin,
      ),
    }
  })
}

export class Level {
  readonly kind: Exclude<RateSource, 'prior'>
  readonly name: string
  /** Its belief when it was last refreshed. */
  belief: Belief
  /** Its sums are decayed up to the last refresh. */
  readonly evidence: Evidence
  readonly #halfLives = halfLives.slice()
  #at: EpochMs

  constructor(
    kind: Exclude<RateSource, 'prior'>,
    name: string,
    { at, parent }: { at: EpochMs; parent: Belief },
  ) {
    this.kind = kind
    this.name = name
    this.#at = at
    this.belief = parent
    this.evidence = new Evidence(ageBorders, parent.rates)
  }

  estimate(parent: Belief, z = oneSided80): Belief {
    const bounds = Array.from(parent.uppers, (_, at) => this.evidence.bound(at, z))
    const isOwn = bounds.map(
      ({ upper, changes }, at) => changes >= enoughChanges || upper <= parent.uppers[at]!,
    )
    return {
      uppers: parent.uppers.map((upper, at) => (isOwn[at] ? bounds[at]!.upper : upper)),
      rates: parent.rates.map((rate, at) => (isOwn[at] ? this.evidence.rates[at]! : rate)),
      origins: parent.origins.map((origin, at) => (isOwn[at] ? this.kind : origin)),
      observations: parent.observations.map((count, at) =>
        isOwn[at] ? this.evidence.observations(at) : count,
      ),
    }
  }

  /** Decays old evidence, and fits the rates. */
  refresh(
    now: EpochMs,
    parent: Belief,
    { budget, capMs: cap }: Pick<LearnedTerms, 'budget' | 'capMs'>,
  ): void {
    this.decay(now)
    this.evidence.fit(parent.rates)
    this.belief = this.estimate(parent)
    const curve = { borders: ageBorders, rates: this.belief.uppers }
    for (let at = 0; at < ageBorders.length; at++) {
      const ttl = invert(curve, Math.max(0, ageBorders[at]!), { budget, cap })
      this.#halfLives[at] = Math.max(halfLives[at]!, rememberedTtls * ttl)
    }
  }

  decay(now: EpochMs): void {
    // A clock that was set back makes nothing younger.
    if (now > this.#at) this.evidence.decay(now - this.#at, this.#halfLives)
    this.#at = now
  }

  /** Adds sums to this node's own, or takes them out. */
  add(row: DatedSums, sign: Sign): void {
    this.evidence.add(this.#decayed(row), sign)
  }

  setForeign(rows: readonly DatedSums[]): void {
    this.evidence.setForeign(rows.map((row) => this.#decayed(row)))
  }

  #decayed({ sums, at }: DatedSums): Float64Array {
    const decayed = sums.slice()
    decaySums(decayed, Math.max(0, this.#at - at) || 0, this.#halfLives)
    return decayed
  }
}
