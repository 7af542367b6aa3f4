/** The policies that a simulation of staleness compares. */
import { fixed } from '../../src/ttl/fixed.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { classOf } from '../../src/ttl/learned/age-classes.ts'
import { type AgeCurve, invert } from '../../src/ttl/learned/age-curve.ts'
import { lapseAt, quantumMs, roundedTtl } from '../../src/ttl/learned/epochs.ts'
import { learned } from '../../src/ttl/learned/learned-policy.ts'
import type { LearnedTerms } from '../../src/ttl/learned/learning.ts'
import type { TtlPolicy } from '../../src/ttl/policy.ts'
import type { ChangeModel } from './change-models.ts'
import type { PolicySpec } from './staleness-case.ts'

export interface PolicyRules {
  readonly model: ChangeModel
  /** Whether the backend takes several intervals per query: buckets need not lapse together then. */
  readonly several: boolean
}

export function policyFrom(spec: PolicySpec, rules: PolicyRules): TtlPolicy {
  switch (spec.kind) {
    case 'ladder':
      return ladder()
    case 'fixed':
      return fixed(1000 * spec.ttlS)
    case 'oracle':
      return oraclePolicy(termsOf(spec.budget), rules)
    case 'learned':
      return learned({ staleness: spec.budget })
  }
}

/** Those of the learned policy. */
const termsOf = (budget: number): LearnedTerms => learned({ staleness: budget }).learns!

/**
 * A policy that knows how often buckets of each age change: per age at fetch the longest TTL whose expected staleness is
 * within the budget. As long as buckets change independently of each other, nothing that has to learn their rates can keep the
 * same budget at a lower cost.
 */
function oraclePolicy(terms: LearnedTerms, { model, several }: PolicyRules): TtlPolicy {
  const { budget, floorMs, capMs, settledAgeMs } = terms
  const curve = curveOf(model)
  const ttls = curve.borders.map((ageMs) => {
    const ttl = ageMs < 0 ? floorMs : Math.max(floorMs, invert(curve, ageMs, { budget, cap: capMs }))
    return several ? ttl : roundedTtl(ttl, floorMs)
  })
  // Where the TTL stays the same, a lookup judges buckets of many classes at once.
  const begins = curve.borders.filter((_, at) => at === 0 || ttls[at] !== ttls[at - 1])
  const epochs = { quantumMs, phaseMs: 0 }
  return {
    ...{ name: 'oracle', capMs, settledAgeMs, isMonotone: false },
    ttl: (ageMs) => ttls[classOf(curve.borders, ageMs)]!,
    plateaus: {
      endOf: (ageMs) => begins[classOf(begins, ageMs) + 1] ?? Number.POSITIVE_INFINITY,
      lapseOf: (fetchedAt, ttlMs) =>
        several || ttlMs <= floorMs ? fetchedAt + ttlMs : lapseAt(fetchedAt, ttlMs, epochs),
    },
  }
}

/** Judges whether the budget needs a TTL below the floor at some age in [fromMs, toMs). */
export function floorBounds(model: ChangeModel, budget: number): (fromMs: number, toMs: number) => boolean {
  const { capMs, floorMs } = termsOf(budget)
  const curve = curveOf(model)
  const steps = 16
  return (fromMs, toMs) => {
    if (fromMs < 0) return true
    for (let step = 0; step < steps; step++) {
      const age = fromMs + (Math.min(toMs, 2 * fromMs + 60_000) - fromMs) * (step / steps)
      if (invert(curve, age, { budget, cap: capMs }) < floorMs) return true
    }
    return false
  }
}

/** In milliseconds, with classes so narrow that the rate hardly changes within one. */
function curveOf({ mean }: ChangeModel): AgeCurve {
  const seconds = [120, 43_200, 86_400]
  for (let age = 0; age < 90_000; age += Math.max(2, age / 60)) seconds.push(Math.round(age))
  const borders = [...new Set(seconds)].sort((a, b) => a - b)
  const rates = borders.map((from, i) => mean((from + (borders[i + 1] ?? from)) / 2) / 1000)
  return {
    borders: Float64Array.of(Number.NEGATIVE_INFINITY, ...borders.map((second) => 1000 * second)),
    rates: Float64Array.of(rates[0]!, ...rates),
  }
}
