/** Evaluates the demo's PromQL as Prometheus does, over the samples that had arrived at a given instant. */
import type { TimeRange } from '../backends/matrix/time.ts'
import type { EpochMs } from '../core/clock.ts'
import { arrivalOf, endScrape, firstScrape, isVisible, scrapeBefore, scrapeMs, timeOf } from './arrivals.ts'
import type { Label, Metric, Series } from './metrics.ts'
import type { Aggregation, RangeFunction, VectorQuery } from './promql.ts'

export interface Row {
  readonly labels: readonly Label[]
  /** One per step; NaN where there is none: no value of the demo is NaN. */
  readonly values: Float64Array
}

export interface Matrix {
  readonly range: TimeRange
  readonly rows: readonly Row[]
  /** Values computed over all series, before they were aggregated: the cost of a query. */
  readonly points: number
}

export type Metrics = ReadonlyMap<string, Metric>

const lookbackMs = 300_000

export const stepsOf = ({ start, end, stepMs }: TimeRange): number => Math.floor((end - start) / stepMs) + 1

export function evaluate(metrics: Metrics, query: VectorQuery, { range, knownAt }: AskedRange): Matrix {
  const steps = stepsOf(range)
  const reach = query.rangeFunction?.windowMs ?? lookbackMs
  const rows = selected(metrics, query, { from: range.start - reach, to: range.end }).map((series) => ({
    labels:
      query.rangeFunction === undefined
        ? series.labels
        : series.labels.filter(([name]) => name !== '__name__'),
    values: valuesOf(series, query.rangeFunction, { range, knownAt }),
  }))
  const { aggregation } = query
  const shown = aggregation === undefined ? rows : aggregate(rows, aggregation, steps)
  return {
    range,
    points: rows.reduce((points, { values }) => points + countOf(values), 0),
    rows: shown.filter(({ values }) => countOf(values) > 0).sort(byLabels),
  }
}

const countOf = (values: Float64Array): number => values.filter((value) => !Number.isNaN(value)).length

export interface AskedRange {
  readonly range: TimeRange
  readonly knownAt: EpochMs
}

/** Series that may have values, in an order that does not depend on the window. */
function selected(
  metrics: Metrics,
  query: VectorQuery,
  { from, to }: { from: EpochMs; to: EpochMs },
): Series[] {
  const all = metrics.get(query.metric)?.series(from, to) ?? []
  return all.filter(({ labels }) =>
    query.matchers.every(({ name, value, isEqual }) => (labelValue(labels, name) === value) === isEqual),
  )
}

const labelValue = (labels: readonly Label[], name: string): string =>
  labels.find((label) => label[0] === name)?.[1] ?? ''

function valuesOf(
  series: Series,
  rangeFunction: RangeFunction | undefined,
  { range, knownAt }: AskedRange,
): Float64Array {
  const values = new Float64Array(stepsOf(range)).fill(Number.NaN)
  const { from, to } = series.source
  const reach = rangeFunction?.windowMs ?? lookbackMs
  for (let i = 0, at = range.start; i < values.length; i++, at += range.stepMs) {
    if (at < from || at > to + reach + scrapeMs) continue
    values[i] =
      rangeFunction === undefined
        ? lastValue(series, at, knownAt)
        : overWindow(series, rangeFunction, { at, knownAt })
  }
  return values
}

/** The newest sample in (at − lookback, at]; none where it is the marker of the end. */
function lastValue({ source, value }: Series, at: EpochMs, knownAt: EpochMs): number {
  const end = endScrape(source)
  const oldest = Math.max(firstScrape(source), scrapeBefore(source, at - lookbackMs) + 1)
  for (let scrape = Math.min(end, scrapeBefore(source, at)); scrape >= oldest; scrape--) {
    if (!isVisible(source, scrape, knownAt)) continue
    return scrape === end ? Number.NaN : value(timeOf(source, scrape))
  }
  return Number.NaN
}

/** Only counters without resets live here: the first and the last sample of the window decide. */
function overWindow(
  series: Series,
  rangeFunction: RangeFunction,
  { at, knownAt }: { at: EpochMs; knownAt: EpochMs },
): number {
  const { source, value } = series
  let first = Math.max(firstScrape(source), scrapeBefore(source, at - rangeFunction.windowMs) + 1)
  let last = Math.min(endScrape(source) - 1, scrapeBefore(source, at))
  while (first < last && !isVisible(source, first, knownAt)) first++
  while (last > first && !isVisible(source, last, knownAt)) last--
  if (first >= last) return Number.NaN
  let count = 2
  for (let scrape = first + 1; scrape < last; scrape++) if (isVisible(source, scrape, knownAt)) count++
  const sampleOf = (scrape: number): Sample => ({
    at: timeOf(source, scrape),
    value: value(timeOf(source, scrape)),
  })
  return extrapolatedRate({ ...rangeFunction, at, count, first: sampleOf(first), last: sampleOf(last) })
}

interface Sample {
  readonly at: EpochMs
  readonly value: number
}

interface SampledWindow extends RangeFunction {
  readonly at: EpochMs
  readonly first: Sample
  readonly last: Sample
  readonly count: number
}

/**
 * rate() and increase() of a counter without resets: the slope, drawn out to the window's edges. The operations and their
 * order are those of Prometheus' extrapolatedRate, so that the same doubles come out.
 */
function extrapolatedRate({ name, at, windowMs, first, last, count }: SampledWindow): number {
  const increase = last.value - first.value
  const sampled = (last.at - first.at) / 1000
  const between = sampled / (count - 1)
  const threshold = between * 1.1
  let toStart = (first.at - (at - windowMs)) / 1000
  let toEnd = (at - last.at) / 1000
  if (toStart >= threshold) toStart = between / 2
  // A counter was not below zero before it began.
  if (increase > 0 && first.value >= 0) toStart = Math.min(toStart, sampled * (first.value / increase))
  if (toEnd >= threshold) toEnd = between / 2
  const factor = (sampled + toStart + toEnd) / sampled
  return increase * (name === 'rate' ? factor / (windowMs / 1000) : factor)
}

function aggregate(rows: readonly Row[], { name, by }: Aggregation, steps: number): Row[] {
  const kept = rows.map(({ labels, values }) => ({
    labels: labels.filter(([label]) => by.includes(label)),
    values,
  }))
  return [...Map.groupBy(kept, ({ labels }) => JSON.stringify(labels)).values()].map((members) => ({
    labels: members[0]!.labels,
    values: Float64Array.from({ length: steps }, (_, i) => fold(name, members, i)),
  }))
}

/** Sums with a compensation (Neumaier), as Prometheus 3 does. */
function fold(name: Aggregation['name'], members: readonly Row[], step: number): number {
  let [count, sum, lost, least, most] = [0, 0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { values } of members) {
    const value = values[step]!
    if (Number.isNaN(value)) continue
    const next = sum + value
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum
    sum = next
    least = Math.min(least, value)
    most = Math.max(most, value)
    count++
  }
  if (count === 0) return Number.NaN
  const total = sum + lost
  return { sum: total, avg: total / count, min: least, max: most, count }[name]
}

/** Every instant up to `until`, newest first, at which a sample arrived that this step looks at. */
export function arrivalsAt(
  metrics: Metrics,
  query: VectorQuery,
  step: { at: EpochMs; until: EpochMs },
): EpochMs[] {
  const reach = query.rangeFunction?.windowMs ?? lookbackMs
  const arrivals = new Set<EpochMs>()
  for (const { source } of selected(metrics, query, { from: step.at - reach, to: step.at })) {
    const last = Math.min(endScrape(source), scrapeBefore(source, step.at))
    const first = Math.max(firstScrape(source), Math.ceil((step.at - reach - source.offsetMs) / scrapeMs))
    for (let scrape = first; scrape <= last; scrape++) {
      const arrival = arrivalOf(source, scrape)
      if (arrival <= step.until) arrivals.add(arrival)
    }
  }
  return [...arrivals].sort((a, b) => b - a)
}

/** labels.Compare of Prometheus; everything here is ASCII, so text order is byte order, and a null comes before it. */
const byLabels = (a: Row, b: Row): number => (orderText(a) < orderText(b) ? -1 : 1)

const orderText = ({ labels }: Row): string => labels.flat().join('\0')
