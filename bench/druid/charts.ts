/**
 * A dashboard of 26 charts and 64 queries, the figures of the published one; its content was not published. 56 queries
 * are grouped by minute (timeseries, groupBy, topN), eight are single numbers over the whole window, which no cache of
 * buckets can answer.
 */
import type { DruidAddresses } from '../../test/servers/druid/druid.ts'
import { ingest, type Row } from '../../test/servers/druid/ingest.ts'

const minute = 60_000
const hour = 60 * minute
const dataSource = 'bench_dashboard'
const everyMs = 10_000
const titles = 8
const regions = ['eu', 'us', 'asia']

export const windowMs = 3 * hour

/** Rows from before the first window until after the last one: Druid serves them all from the beginning. */
export async function fill(druid: DruidAddresses, span: { from: number; to: number }): Promise<void> {
  await ingest(druid, {
    dataSource,
    dimensions: ['title', 'region'],
    metrics: [
      { type: 'count', name: 'cnt' },
      { type: 'longSum', name: 'plays', fieldName: 'plays' },
      { type: 'doubleSum', name: 'delay', fieldName: 'delay' },
      { type: 'doubleMax', name: 'slowest', fieldName: 'delay' },
    ],
    segmentGranularity: 'HOUR',
    rows: rows(span),
  })
}

function rows({ from, to }: { from: number; to: number }): Row[] {
  const all: Row[] = []
  for (let time = Math.floor(from / everyMs) * everyMs; time < to; time += everyMs) {
    for (let title = 0; title < titles; title++) {
      for (const region of regions) {
        const plays = ((time / everyMs) * 7919 + title * 104_729 + region.length) % 1009
        all.push({ time, title: `Title ${title}`, region, plays, delay: plays / 8 })
      }
    }
  }
  return all
}

const aggregations = [
  { type: 'longSum', name: 'plays', fieldName: 'plays' },
  { type: 'doubleSum', name: 'delay', fieldName: 'delay' },
  { type: 'doubleMax', name: 'slowest', fieldName: 'slowest' },
]
const of = (dimension: string, value: string) => ({ filter: { type: 'selector', dimension, value } })
const timeseries = { queryType: 'timeseries', granularity: 'minute' }
const groupBy = { queryType: 'groupBy', granularity: 'minute' }
const topN = {
  ...{ queryType: 'topN', granularity: 'minute' },
  ...{ dimension: 'title', metric: 'plays', threshold: 3 },
}
const titleNames = Array.from({ length: titles }, (_, title) => `Title ${title}`)

/** Charts, each with its queries without their time. */
const charts: readonly (readonly object[])[] = [
  // A line for all and three for regions, of each of eight titles: 8 charts, 32 queries.
  ...titleNames.map((title) => [
    { ...timeseries, ...of('title', title) },
    ...regions.map((region) => ({
      ...timeseries,
      filter: { type: 'and', fields: [of('title', title).filter, of('region', region).filter] },
    })),
  ]),
  // Lines of titles per region, and of all: 4 charts, 16 queries.
  ...[...regions, undefined].map((region) =>
    [['title'], ['region'], ['title', 'region'], ['region', 'title']].map((dimensions) => ({
      ...groupBy,
      dimensions,
      ...(region !== undefined && of('region', region)),
    })),
  ),
  // The top titles of every minute: 4 charts, 4 queries; totals of a region: 3 charts, 3 queries; of all: 1 chart, 1 query.
  ...[...regions, undefined].map((region) => [
    { ...topN, ...(region !== undefined && of('region', region)) },
  ]),
  ...regions.map((region) => [{ ...timeseries, ...of('region', region) }]),
  [timeseries],
  // Single numbers: 6 charts, 8 queries.
  ...titleNames.slice(0, 4).map((title) => [{ ...timeseries, granularity: 'all', ...of('title', title) }]),
  [...regions.slice(1), undefined].map((region) => ({
    ...groupBy,
    granularity: 'all',
    dimensions: ['title'],
    ...(region !== undefined && of('region', region)),
  })),
  [{ ...timeseries, granularity: 'all' }],
]

export const shapeOfDashboard = {
  charts: charts.length,
  queries: charts.flat().length,
  minutely: charts.flat().filter((query) => (query as { granularity: string }).granularity === 'minute')
    .length,
}

/** The bodies of all queries over [from, to). */
export function bodiesOf(from: number, to: number): string[] {
  const intervals = [`${new Date(from).toISOString()}/${new Date(to).toISOString()}`]
  return charts.flat().map((query) => JSON.stringify({ dataSource, intervals, aggregations, ...query }))
}
