/** Series of histograms: classic ones, summaries and native ones, all fed by the same kind of observations. */
import type { FloatHistogram, IntegerHistogram } from '../servers/remote-write.ts'
import { duration } from './samplers.ts'
import { HOUR, type Random, type Sampler, type SeriesSpec, START } from './series.ts'

type Labels = Readonly<Record<string, string>>

interface Observations {
  readonly count: number
  readonly sum: number
  /** Observations at or below each bound. */
  readonly cumulative: readonly number[]
}

/** Observations so far, starting again from nothing every 7 hours. */
function observe(random: Random, bounds: readonly number[]): (t: number) => Observations {
  let count = 0
  let sum = 0
  let cumulative = bounds.map(() => 0)
  let restarts = 0
  return (t) => {
    if (Math.floor((t - START) / (7 * HOUR)) > restarts) {
      restarts++
      count = 0
      sum = 0
      cumulative = bounds.map(() => 0)
    }
    for (let left = Math.floor(random() * 6); left > 0; left--) {
      const seen = duration(random)
      count++
      sum += seen
      cumulative = cumulative.map((below, index) => below + (seen <= bounds[index]! ? 1 : 0))
    }
    return { count, sum, cumulative }
  }
}

const BOUNDS = [0.005, 0.05, 0.5, 1, 5]

function observed(part: (seen: Observations) => number): Sampler {
  return (random) => {
    const next = observe(random, BOUNDS)
    return (t) => part(next(t))
  }
}

export function bucketSeries(labels: Labels): SeriesSpec[] {
  const seed = JSON.stringify(labels)
  const buckets = BOUNDS.map((bound, index) => ({
    labels: { ...labels, le: String(bound) },
    seed,
    sampler: observed((seen) => seen.cumulative[index]!),
  }))
  return [...buckets, { labels: { ...labels, le: '+Inf' }, seed, sampler: observed((seen) => seen.count) }]
}

export function sumSeries(labels: Labels): SeriesSpec {
  return { labels, seed: JSON.stringify(labels), sampler: observed((seen) => seen.sum) }
}

export function countSeries(labels: Labels): SeriesSpec {
  return { labels, seed: JSON.stringify(labels), sampler: observed((seen) => seen.count) }
}

/** Upper bounds of the exponential buckets 0 … 7 of schema 0 in units of 1 ms … 128 ms, scaled to seconds. */
const EXPONENTIAL = [
  2 ** -10,
  2 ** -9,
  2 ** -8,
  2 ** -7,
  2 ** -6,
  2 ** -5,
  2 ** -4,
  2 ** -3,
  2 ** -2,
  2 ** -1,
  1,
  2,
]
const FIRST_INDEX = -9

/** Exponential buckets counted in integers; values below the smallest bound are in the zero bucket. */
export const integerHistogram: Sampler = (random) => {
  const next = observe(random, EXPONENTIAL)
  return (t): IntegerHistogram => {
    const { sum, cumulative } = next(t)
    const buckets = differences(cumulative)
    return {
      schema: 0,
      sum,
      count: cumulative.at(-1)!,
      zeroThreshold: EXPONENTIAL[0]!,
      zeroCount: cumulative[0]!,
      positiveSpans: [{ offset: FIRST_INDEX, length: buckets.length }],
      positiveDeltas: [buckets[0]!, ...differences(buckets)],
    }
  }
}

/** A gauge of counts that are fractions, with negative buckets and two spans. */
export const floatGaugeHistogram: Sampler = (random) => () => {
  const positiveCounts = [random() * 10, random() * 5.5, random() / 3]
  const negativeCounts = [random() * 2, 0.125]
  const floatZeroCount = Math.floor(random() * 4) / 4
  const all = [...positiveCounts, ...negativeCounts, floatZeroCount]
  return {
    schema: 3,
    sum: random() * 40 - 10,
    floatCount: all.reduce((total, one) => total + one, 0),
    zeroThreshold: 1e-3,
    floatZeroCount,
    positiveSpans: [
      { offset: 0, length: 2 },
      { offset: 3, length: 1 },
    ],
    negativeSpans: [{ offset: -2, length: 2 }],
    positiveCounts,
    negativeCounts,
    isGauge: true,
  } satisfies FloatHistogram
}

/** Custom buckets: the classic bounds as one native series. */
export const customBucketHistogram: Sampler = (random) => {
  const next = observe(random, BOUNDS)
  return (t): IntegerHistogram => {
    const { count, sum, cumulative } = next(t)
    const buckets = [cumulative[0]!, ...differences([...cumulative, count])]
    return {
      schema: -53,
      sum,
      count,
      zeroCount: 0,
      customValues: BOUNDS,
      positiveSpans: [{ offset: 0, length: buckets.length }],
      positiveDeltas: [buckets[0]!, ...differences(buckets)],
    }
  }
}

/** Floats in even two-hour parts of the day, histograms in odd ones: whole requests of one kind (remote-write.ts). */
export const floatsAndHistograms: Sampler = (random) => {
  const histogram = integerHistogram(random)
  return (t, index) => {
    const value = histogram(t, index)
    return Math.floor((t - START) / (2 * HOUR)) % 2 === 0 ? index * 0.5 : value
  }
}

function differences(values: readonly number[]): number[] {
  return values.slice(1).map((value, index) => value - values[index]!)
}
