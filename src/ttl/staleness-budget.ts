/**
 * From a staleness budget to a TTL, and back. Data changes at a constant rate λ (a Poisson process), a copy is kept for
 * t and read at times uniform in t: the share of reads that are out of date is S = 1 − (1 − e^−x)/x with x = λ·t. It depends
 * on x alone, so one inverse of S serves all rates. No unit is fixed: a TTL has the unit of 1/rate.
 */

/** The longest TTL that keeps the expected share of stale reads within the budget: 0.1 is one in ten. */
export function computeTtl(rate: number, budget: number): number {
  if (!(rate > 0)) throw new RangeError(`The change rate must be above 0, but is ${rate}.`)
  if (!(budget >= 0 && budget < 1)) {
    throw new RangeError(`The staleness budget must be at least 0 and below 1, but is ${budget}.`)
  }
  return normalizedTtl(budget) / rate
}

/** The expected share of stale reads, for copies that are kept for `ttl`. */
export function staleFraction(rate: number, ttl: number): number {
  if (!(rate >= 0)) throw new RangeError(`The change rate must be at least 0, but is ${rate}.`)
  if (!(ttl >= 0)) throw new RangeError(`The TTL must be at least 0, but is ${ttl}.`)
  // 0 · ∞ is not a number, but data that never changes is never stale, and a copy that is not kept is not either.
  return rate === 0 || ttl === 0 ? 0 : staleShare(rate * ttl)
}

/** x = rate · TTL for a budget. 0 where nothing may be stale (or for NaN), infinite where everything may. */
export function normalizedTtl(budget: number): number {
  if (!(budget > 0)) return 0
  if (budget >= 1) return Number.POSITIVE_INFINITY
  if (budget < 0.01) return inverseSeries(budget)
  // S is concave. The series stays below the root, and from there Newton's steps approach the root without passing it.
  // 1/(1 − budget) lies above; its first step leads to a point below.
  let x = budget < 0.3 ? inverseSeries(budget) : 1 / (1 - budget)
  for (let i = 0; i < 20; i++) {
    const fresh = freshShare(x)
    // Each form is exact where the other one loses digits: the stale share for small x, the fresh share for large x.
    const excess = x < 1 ? staleShare(x) - budget : 1 - budget - fresh
    const step = (excess * x) / (fresh - Math.exp(-x))
    x -= step
    if (Math.abs(step) <= 1e-12 * x) break
  }
  return x
}

const freshShare = (x: number): number => -Math.expm1(-x) / x

/** S(x). Below 1 as the series x/2 − x²/6 + x³/24 − …, because 1 − fresh would cancel: all digits are lost at 1e-16. */
export function staleShare(x: number): number {
  if (x >= 1) return 1 - freshShare(x)
  let share = 0
  for (let k = 18; k >= 2; k--) share = (x / k) * (1 - share)
  return share
}

/** The inverse of S as a power series. With these terms it has all digits below a budget of 0.01. */
const coefficients = [2, 4 / 3, 10 / 9, 136 / 135, 386 / 405, 524 / 567, 38698 / 42525, 16496 / 18225]

const inverseSeries = (budget: number): number =>
  coefficients.reduceRight((sum, coefficient) => sum * budget + coefficient, 0) * budget
