/**
 * The data of the fixture: some 250 series over 24 h that end at a fixed instant, the same on every machine.
 * `catalogue` lists its content, for authors of queries.
 */
import { sortedLabels, type TimeSeries } from '../servers/remote-write.ts'
import { fleetingMetrics } from './metrics-fleeting.ts'
import { oddMetrics } from './metrics-odd.ts'
import { steadyMetrics } from './metrics-steady.ts'
import {
  END,
  type Kind,
  type MetricSpec,
  SCRAPE_INTERVAL,
  type SeriesSpec,
  START,
  samplesOf,
  WHOLE_PERIOD,
} from './series.ts'

export { END, HOUR, MINUTE, SECOND, START } from './series.ts'

export interface CatalogueEntry {
  readonly name: string
  readonly kind: Kind
  readonly note: string
  readonly series: number
  /** Every label with all its values, in the order of first use. */
  readonly labels: Readonly<Record<string, readonly string[]>>
  readonly intervalsMs: readonly number[]
  /** From the first to the last moment any of its series has data; with holes, if the note mentions them. */
  readonly from: number
  readonly to: number
}

const metrics: readonly MetricSpec[] = [...steadyMetrics, ...fleetingMetrics, ...oddMetrics]

export const catalogue: readonly CatalogueEntry[] = metrics.map(describe)

function describe({ name, kind, note, series }: MetricSpec): CatalogueEntry {
  const lives = series.flatMap((one) => one.lives ?? WHOLE_PERIOD)
  return {
    name,
    kind,
    note,
    series: series.length,
    labels: labelValues(series),
    intervalsMs: [...new Set(series.map((one) => one.intervalMs ?? SCRAPE_INTERVAL))],
    from: Math.min(...lives.map((life) => life.from)),
    to: Math.max(...lives.map((life) => life.to)),
  }
}

function labelValues(series: readonly SeriesSpec[]): Record<string, string[]> {
  const values = new Map<string, Set<string>>()
  for (const [label, value] of series.flatMap((one) => Object.entries(one.labels))) {
    values.set(label, (values.get(label) ?? new Set()).add(value))
  }
  return Object.fromEntries([...values].map(([label, set]) => [label, [...set]]))
}

/** Returns every series with all its samples, in the order of their labels. */
export function generateSeries(): TimeSeries[] {
  const all = metrics.flatMap(({ name, series }) =>
    series.map((one) => ({ labels: { __name__: name, ...one.labels }, samples: samplesOf(name, one) })),
  )
  const keyed = all.map((one) => ({ one, key: Buffer.from(sortedLabels(one.labels).flat().join('\0')) }))
  return keyed.sort((a, b) => Buffer.compare(a.key, b.key)).map(({ one }) => one)
}

/** Returns the data cut into parts of `partMs`, each with the series that have samples in it. */
export function* inParts(series: readonly TimeSeries[], partMs: number): Generator<TimeSeries[]> {
  const positions = series.map(() => 0)
  for (let end = START + partMs; end < END + partMs; end += partMs) {
    const part = series.map(({ labels, samples }, index) => {
      const from = positions[index]!
      let to = from
      while (to < samples.length && samples[to]!.t < end) to++
      positions[index] = to
      return { labels, samples: samples.slice(from, to) }
    })
    yield part.filter(({ samples }) => samples.length > 0)
  }
}
