/**
 * A made-up series and its samples. Everything is computed from the series' own seed, so that adding or removing one
 * changes no other.
 */
import type { Sample, SampleValue, STALE, STALE_HISTOGRAM } from '../servers/remote-write.ts'

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE

/** The data lies in [START, END): 24 h at a fixed time in the past. */
export const END = Date.parse('2026-01-15T12:00:00Z')
export const START = END - 24 * HOUR

/** Half-open: a sample at `to` is outside. */
export interface Life {
  readonly from: number
  readonly to: number
}

export const WHOLE_PERIOD: readonly Life[] = [{ from: START, to: END }]

export type Kind =
  | 'counter'
  | 'gauge'
  | 'classic_histogram'
  | 'summary'
  | 'native_histogram'
  | 'float_and_histogram'

/** Returns a number in [0, 1). */
export type Random = () => number

/** Called once per life of a series; the inner function once per scrape, in order of time. */
export type Sampler = (random: Random) => (t: number, index: number) => SampleValue

export interface SeriesSpec {
  /** Without `__name__`. */
  readonly labels: Readonly<Record<string, string>>
  readonly sampler: Sampler
  /** 15 s when absent. */
  readonly intervalMs?: number
  /** When in its interval it is scraped; real targets are all at different times. */
  readonly offsetMs?: number
  /** Absent: the whole period. */
  readonly lives?: readonly Life[]
  /** How a life ends that ends before the period: with a staleness marker, or samples just stop. Absent: silently. */
  readonly marker?: typeof STALE | typeof STALE_HISTOGRAM
  /** Series with the same seed see the same random numbers. Absent: one of its own. */
  readonly seed?: string
}

export interface MetricSpec {
  readonly name: string
  readonly kind: Kind
  readonly note: string
  readonly series: readonly SeriesSpec[]
}

export const SCRAPE_INTERVAL = 15 * SECOND

/** Returns all samples of a series, in order of time. */
export function samplesOf(metric: string, series: SeriesSpec): Sample[] {
  const random = randomFrom(series.seed ?? metric + JSON.stringify(series.labels))
  return (series.lives ?? WHOLE_PERIOD).flatMap((life) => samplesOfLife(series, life, random))
}

function samplesOfLife(series: SeriesSpec, life: Life, random: Random): Sample[] {
  const { intervalMs = SCRAPE_INTERVAL, offsetMs = 0 } = series
  const samples: Sample[] = []
  const next = series.sampler(random)
  const skipped = Math.ceil((life.from - START - offsetMs) / intervalMs)
  let t = START + offsetMs + skipped * intervalMs
  for (let index = 0; t < life.to; t += intervalMs) samples.push({ t, value: next(t, index++) })
  if (series.marker && t < END) samples.push({ t, value: series.marker })
  return samples
}

/** Mulberry32, seeded with the FNV-1a hash of a name. */
export function randomFrom(seed: string): Random {
  let state = 0x811c9dc5
  for (const byte of Buffer.from(seed)) state = Math.imul(state ^ byte, 0x01000193)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Returns every combination of the given label values, the last label changing fastest. */
export function combinations(values: Readonly<Record<string, readonly string[]>>): Record<string, string>[] {
  let all: Record<string, string>[] = [{}]
  for (const [label, options] of Object.entries(values)) {
    all = all.flatMap((labels) => options.map((value) => ({ ...labels, [label]: value })))
  }
  return all
}
