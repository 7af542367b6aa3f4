/**
 * A policy that knows how often buckets of each age change: per age at fetch the longest TTL whose expected staleness is
 * within the budget. As long as buckets change independently of each other, nothing that has to learn their rates can keep the
 * same budget at a lower cost.
 */

import { classOf } from '../ttl/learned/age-classes.ts'
import { type AgeCurve, invert } from '../ttl/learned/age-curve.ts'
import { lapseAt, quantumMs, roundedTtl } from '../ttl/learned/epochs.ts'
import type { LearnedTerms } from '../ttl/learned/learning.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import type { ChangeModel } from './change-models.ts'

export interface OracleRules {
  readonly model: ChangeModel
  readonly terms: LearnedTerms
  /** Whether neighbours lapse together, as they do with the learned policy where a query has one interval. */
  readonly onEpochs: boolean
}

export function oraclePolicy({ model, terms, onEpochs }: OracleRules): TtlPolicy {
  const { budget, floorMs, capMs, settledAgeMs } = terms
  const curve = curveOf(model)
  const ttls = curve.borders.map((ageMs) => {
    const ttl = ageMs < 0 ? floorMs : Math.max(floorMs, invert(curve, ageMs, { budget, cap: capMs }))
    return onEpochs ? roundedTtl(ttl, floorMs) : ttl
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
        onEpochs && ttlMs > floorMs ? lapseAt(fetchedAt, ttlMs, epochs) : fetchedAt + ttlMs,
    },
  }
}

/** Whether the budget needs a TTL below the floor at some age in [fromMs, toMs). */
export function isFloorBound({ model, terms }: OracleRules, fromMs: number, toMs: number): boolean {
  if (fromMs < 0) return true
  const curve = curveOf(model)
  const steps = 16
  for (let step = 0; step < steps; step++) {
    const age = fromMs + (Math.min(toMs, 2 * fromMs + 60_000) - fromMs) * (step / steps)
    if (invert(curve, age, { budget: terms.budget, cap: terms.capMs }) < terms.floorMs) return true
  }
  return false
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
