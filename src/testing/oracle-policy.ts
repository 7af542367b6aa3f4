/**
 * A policy that knows how often buckets of each age change: per age at fetch the longest TTL whose expected staleness is
 * within the budget. Nothing that has to learn the rates can promise the same and be cheaper, as long as buckets change
 * independently of each other.
 */
import type { EpochMs } from '../core/clock.ts'
import type { Plateaus, TtlPolicy } from '../ttl/policy.ts'
import type { ChangeModel } from './change-models.ts'

export interface OracleOptions {
  readonly model: ChangeModel
  readonly budget: number
  readonly floorMs: number
  readonly capMs: number
  /** Whether neighbours lapse together, as with the learned policy under backends that take one interval per query. */
  readonly lapsesOnEpochs: boolean
}

export interface OraclePolicy extends TtlPolicy {
  /** Whether the floor keeps the TTL of buckets of this age above the one that the budget asks for. */
  isFloorBound(ageMs: number): boolean
}

export function oraclePolicy(options: OracleOptions): OraclePolicy {
  const { floorMs, capMs, budget, lapsesOnEpochs } = options
  const curve = curveOf(options.model)
  const wanted = curve.borders.map((ageS) => 1000 * longestTtl(curve, ageS, { budget, capS: capMs / 1000 }))
  // Whole milliseconds: rounding errors must not make a constant TTL fall with age.
  const ttls = wanted.map((ttlMs) => Math.round(Math.min(capMs, Math.max(floorMs, ttlMs))))
  const bordersMs = curve.borders.map((border) => 1000 * border)
  const isMonotone = !lapsesOnEpochs && ttls.every((ttl, i) => i === 0 || ttl >= ttls[i - 1]!)
  const classAt = (ageMs: number) => lastNotAbove(bordersMs, ageMs)
  const plateaus: Plateaus = {
    endOf: (ageMs) => (ageMs < 0 ? 0 : (bordersMs[classAt(ageMs) + 1] ?? Number.POSITIVE_INFINITY)),
    lapseOf: lapsesOnEpochs ? epochLapse : (fetchedAt, ttlMs) => fetchedAt + ttlMs,
  }
  return {
    ...{ name: 'oracle', capMs, isMonotone },
    settledAgeMs: 660_000,
    ttl: (ageMs) => (ageMs < 0 ? floorMs : ttls[classAt(ageMs)]!),
    ...(!isMonotone && { plateaus }),
    isFloorBound: (ageMs) => ageMs < 0 || wanted[classAt(ageMs)]! < floorMs,
  }
}

interface RateCurve {
  /** Seconds; the first is 0, and a class reaches from one border to the next. */
  readonly borders: readonly number[]
  readonly rates: readonly number[]
}

/** Narrow classes: a rate that falls with age is nearly constant in each. */
function curveOf({ mean }: ChangeModel): RateCurve {
  const borders: number[] = []
  for (let age = 0; age < 90_000; age += Math.max(2, age / 60)) borders.push(Math.round(age))
  for (const jump of [120, 43_200, 86_400]) if (!borders.includes(jump)) borders.push(jump)
  borders.sort((a, b) => a - b)
  const rates = borders.map((from, i) => mean((from + (borders[i + 1] ?? from)) / 2))
  return { borders, rates }
}

/** The largest t for which the expected stale share of [age, age + t] is within the budget; never above the cap. */
function longestTtl(
  { borders, rates }: RateCurve,
  ageS: number,
  { budget, capS }: { budget: number; capS: number },
): number {
  let [fresh, survival, spent] = [0, 1, 0]
  for (let i = lastNotAbove(borders, ageS); spent < capS; i++) {
    const rate = rates[i]!
    const length = Math.min((borders[i + 1] ?? Number.POSITIVE_INFINITY) - ageS - spent, capS - spent)
    const freshFor = (t: number) => survival * (rate * t < 1e-12 ? t : -Math.expm1(-rate * t) / rate)
    const isWithin = (t: number) => 1 - (fresh + freshFor(t)) / (spent + t) <= budget
    if (!isWithin(length)) return spent + bisect(length, isWithin)
    fresh += freshFor(length)
    survival *= Math.exp(-rate * length)
    spent += length
  }
  return capS
}

/** The largest value in [0, high] of which `holds` is true; it is false for `high`. */
function bisect(high: number, holds: (value: number) => boolean): number {
  let [low, above] = [0, high]
  for (let step = 0; step < 50; step++) {
    const middle = (low + above) / 2
    if (holds(middle)) low = middle
    else above = middle
  }
  return low
}

/** The index of the last border that is not above a value; 0 where all are. */
function lastNotAbove(borders: readonly number[], value: number): number {
  let [low, high] = [0, borders.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (borders[middle]! <= value) low = middle
    else high = middle - 1
  }
  return low
}

const shortestEpochMs = 10_000

function epochLapse(fetchedAt: EpochMs, ttlMs: number): EpochMs {
  if (ttlMs < 2 * shortestEpochMs) return fetchedAt + ttlMs
  const period = shortestEpochMs * 2 ** Math.floor(Math.log2(ttlMs / shortestEpochMs))
  return (Math.floor(fetchedAt / period) + 1) * period
}
