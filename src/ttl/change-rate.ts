/**
 * How fast data changes, from refetches that show only whether a bucket changed since its last fetch. Gaps between
 * fetches are irregular, and several changes within one gap look like one. No unit is fixed: a rate has the unit of
 * 1/gap.
 */
import { gammaUpper, oneSided95 } from './learned/bounds.ts'

export interface ChangeObservation {
  /** The time between two fetches of one bucket; above 0. */
  readonly gap: number
  readonly changed: boolean
}

export interface RateEstimate {
  /** Changes per unit of time; 0 if no change was seen. */
  readonly rate: number
  /** The rate is below this with 95 % confidence; infinite without an observation. Compute TTLs from it, not from `rate`. */
  readonly upper95: number
  readonly n: number
}

/**
 * The maximum likelihood estimate, corrected for small samples: half an unchanged observation of the mean gap is added.
 * The correction takes away most of the bias, and keeps the estimate finite where every observation is a change.
 */
export function estimateRate(observations: readonly ChangeObservation[]): RateEstimate {
  for (const { gap } of observations) {
    if (!(gap > 0 && gap < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`The gap of an observation must be above 0 and finite, but is ${gap}.`)
    }
  }
  const n = observations.length
  const changedGaps = observations.filter(({ changed }) => changed).map(({ gap }) => gap)
  const total = sumOver(observations, ({ gap }) => gap)
  // No change in `total` has a probability of e^(−rate · total): below 5 % if the rate is above this.
  if (changedGaps.length === 0) return { rate: 0, upper95: -Math.log(0.05) / total, n }
  const unchanged = sumOver(observations, ({ gap, changed }) => (changed ? 0 : gap)) + total / n / 2
  const rate = likeliestRate(changedGaps, unchanged)
  const count = effectiveCount(observations, rate)
  return { rate, upper95: (rate * gammaUpper(count, oneSided95)) / count, n }
}

/** The root of Σ gap/(e^(rate · gap) − 1) over the changed gaps = the time in which nothing changed. */
function likeliestRate(changedGaps: readonly number[], unchanged: number): number {
  // Each term lies between 1/rate − gap/2 and 1/rate, which encloses the root.
  const count = changedGaps.length
  let low = count / (unchanged + sumOver(changedGaps, (gap) => gap) / 2)
  let high = count / unchanged
  // The terms fall as the rate rises. Halving the ratio finds small and large rates to the same number of digits.
  for (let i = 0; i < 64 && high > low * (1 + 1e-15); i++) {
    const middle = Math.sqrt(low * high)
    if (sumOver(changedGaps, (gap) => gap / Math.expm1(middle * gap)) > unchanged) low = middle
    else high = middle
  }
  return Math.sqrt(low * high)
}

/**
 * As many directly counted changes would be as precise: rate² times the Fisher information of the observations. The number
 * of changes seen, or expected, would claim too much: gaps much longer than 1/rate end in a change at almost any rate.
 */
const effectiveCount = (observations: readonly ChangeObservation[], rate: number): number =>
  sumOver(observations, ({ gap }) => (rate * gap) ** 2 / Math.expm1(rate * gap))

function sumOver<T>(items: readonly T[], of: (item: T) => number): number {
  let sum = 0
  for (const item of items) sum += of(item)
  return sum
}
