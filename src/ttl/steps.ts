/** A schedule written out: from each age on, its TTL; before the first, the floor. */
import { requireOption } from '../core/errors.ts'
import type { TtlPolicy } from './policy.ts'

export interface Step {
  readonly ageMs: number
  readonly ttlMs: number
}

export interface StepsOptions {
  readonly floorMs: number
  /** At least one. */
  readonly steps: readonly Step[]
}

/** Why a schedule cannot be used, and which of its steps; undefined if it can. */
export function stepsMistake({ floorMs, steps }: StepsOptions): { at: number; why: StepMistake } | undefined {
  for (const [at, step] of steps.entries()) {
    const before = steps[at - 1] ?? { ageMs: -1, ttlMs: floorMs }
    if (step.ageMs <= before.ageMs) return { at, why: 'age_does_not_rise' }
    if (step.ttlMs < before.ttlMs) return { at, why: 'ttl_falls' }
  }
  return undefined
}

export type StepMistake = 'age_does_not_rise' | 'ttl_falls'

export function steps(options: StepsOptions): TtlPolicy {
  requireOption(
    options.floorMs > 0 && options.steps.length > 0 && stepsMistake(options) === undefined,
    'a schedule needs a floor above 0 and steps whose ages rise and whose TTLs do not fall',
    'Sort the steps by age, and let no TTL be below the one before.',
  )
  const ages = options.steps.map((step) => step.ageMs)
  const ttls = options.steps.map((step) => step.ttlMs)
  const capMs = ttls.at(-1)!
  return {
    name: 'steps',
    isMonotone: true,
    capMs,
    settledAgeMs: capMs === options.floorMs ? 0 : ages[ttls.indexOf(capMs)]!,
    ttl: (ageMs) => ttls[ages.findLastIndex((age) => age <= ageMs)] ?? options.floorMs,
  }
}
