/**
 * TTLs for data that change at another rate at every age: the longest time for which a copy may be shown, so that the
 * share of that time in which it is out of date stays within a budget. Exact for rates that are constant within each class.
 */
import { staleShare } from '../staleness-budget.ts'
import { type Borders, classOf, endOfClass } from './age-classes.ts'

export interface AgeCurve {
  readonly borders: Borders
  /** Changes per unit of time, one for each class; finite and not negative. */
  readonly rates: Float64Array
}

export interface InvertLimits {
  /** The share of its time that a copy may be out of date. */
  readonly budget: number
  /** No TTL is longer. */
  readonly cap: number
}

/** The largest TTL up to the cap whose expected share of stale time is within the budget, for a copy that is fetched at `age`. */
export function invert({ borders, rates }: AgeCurve, age: number, { budget, cap }: InvertLimits): number {
  // A copy changes with probability 1 - e^-hazard in the first `spent`, of which it is out of date for `stale`.
  let [hazard, spent, stale] = [0, 0, 0]
  for (let at = classOf(borders, age); spent < cap; at++) {
    const until = Math.min(endOfClass(borders, at) - age, cap)
    const length = until - spent
    const rate = rates[at]!
    const staleThen = stale + staleTime(hazard, rate, length)
    if (staleThen > budget * until) {
      return spent + solve({ hazard, rate, length, budget, owed: budget * spent - stale })
    }
    stale = staleThen
    hazard += rate * length
    spent = until
  }
  return cap
}

/** How long a copy is out of date within `length`, if the hazard was already `hazard` when that began. */
function staleTime(hazard: number, rate: number, length: number): number {
  const survival = Math.exp(-hazard)
  return length * (-Math.expm1(-hazard) + survival * staleShare(rate * length))
}

/** The class in which the budget is used up. */
interface LastClass {
  readonly hazard: number
  readonly rate: number
  readonly length: number
  readonly budget: number
  /** How much more stale time the budget would have allowed before this class began. */
  readonly owed: number
}

/**
 * Where in a class the budget is used up. The excess over the budget is convex in time, not above 0 at the beginning and
 * above 0 at the end of the class: Newton's method from the end approaches the only root from above, and never leaves the class.
 */
function solve({ hazard, rate, length, budget, owed }: LastClass): number {
  let at = length
  for (let step = 0; step < 60; step++) {
    const excess = staleTime(hazard, rate, at) - budget * at - owed
    const slope = -Math.expm1(-hazard - rate * at) - budget
    if (!(excess > 0 && slope > 0)) break
    const next = at - excess / slope
    if (!(next > 0)) return 0
    if (at - next <= 1e-13 * at) return next
    at = next
  }
  return at
}
