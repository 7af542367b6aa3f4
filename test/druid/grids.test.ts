/**
 * Calendar grids against Druid's own bucket starts. Segments of `years` are a month each and have a row at either end,
 * so timeseries names every bucket between, also around every change of the clocks.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gridOf } from '../../src/backends/druid/granularity.ts'
import { bucketAt, endOf, type Grid, startOf } from '../../src/core/grid.ts'
import { transitionsIn, zoneOf } from '../../src/core/zone.ts'
import { requireServer } from '../data/fixture.ts'
import { askNative } from '../servers/druid/ask.ts'
import type { DruidAddresses } from '../servers/druid/druid.ts'
import { years, yearsSpan } from './data/years.ts'
import { startDruidFixture } from './fixture.ts'

const DAY = 86_400_000

/** Among them clocks that change by half an hour, at midnight, on a Friday, and offsets of odd minutes. */
const zones = [
  'UTC',
  'America/New_York',
  'Europe/Berlin',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
  'America/Havana',
  'America/Santiago',
  'Africa/Cairo',
  'America/St_Johns',
  'Pacific/Chatham',
]

/** Short ones are tested only around changes of the clocks. */
const shortPeriods = ['PT15M', 'PT30M', 'PT1H', 'PT2H', 'PT6H', 'PT8H']
const longPeriods = ['P1D', 'P2D', 'P7D', 'P1W', 'P2W', 'P1M', 'P2M', 'P3M', 'P1Y']

interface Range {
  readonly from: number
  readonly to: number
}

/** Days that begin within the data; 2024-07 and 2025-04 have none. */
function rangesOf(zoneName: string, period: string): readonly Range[] {
  if (longPeriods.includes(period)) return [yearsSpan]
  const changes = [...transitionsIn(zoneOf(zoneName)!, yearsSpan.from, yearsSpan.to - DAY)].map(
    ({ at }) => at,
  )
  const middles = changes.length > 0 ? changes : [Date.UTC(2024, 1, 29)]
  return middles.map((at) => ({
    from: Math.floor(at / DAY) * DAY - DAY,
    to: Math.floor(at / DAY) * DAY + 2 * DAY,
  }))
}

interface Bucket {
  readonly timestamp: string
  readonly result: { readonly first: number | null; readonly last: number | null }
}

function askBuckets(druid: DruidAddresses, granularity: object, { from, to }: Range): Promise<Bucket[]> {
  return askNative<Bucket>(druid.brokerUrl, {
    queryType: 'timeseries',
    dataSource: years.dataSource,
    granularity,
    intervals: `${new Date(from).toISOString()}/${new Date(to).toISOString()}`,
    aggregations: [
      { type: 'longMin', name: 'first', fieldName: '__time' },
      { type: 'longMax', name: 'last', fieldName: '__time' },
    ],
  })
}

/** From the first row to the last of each segment: the buckets between are named, whether they have rows or not. */
const segments: readonly Range[] = [
  ...Map.groupBy(years.rows, ({ time }) => new Date(time).toISOString().slice(0, 'YYYY-MM'.length)).values(),
].map((rows) => ({
  from: Math.min(...rows.map(({ time }) => time)),
  to: Math.max(...rows.map(({ time }) => time)) + 1,
}))

const isNamed = (grid: Grid, bucket: number, { from, to }: Range): boolean =>
  segments.some(
    (segment) =>
      Math.max(segment.from, from, startOf(grid, bucket)) < Math.min(segment.to, to, endOf(grid, bucket)),
  )

function startsIn(grid: Grid, range: Range): string[] {
  const starts: string[] = []
  for (let bucket = bucketAt(grid, range.from); startOf(grid, bucket) < range.to; bucket++) {
    if (isNamed(grid, bucket, range)) starts.push(new Date(startOf(grid, bucket)).toISOString())
  }
  return starts
}

test('grids begin where the buckets of Druid begin', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  let [buckets, irregular] = [0, 0]
  for (const timeZone of zones) {
    await t.test(timeZone, async () => {
      let regular = 0
      for (const period of [...shortPeriods, ...longPeriods]) {
        const granularity = { type: 'period', period, timeZone }
        for (const range of rangesOf(timeZone, period)) {
          const grid = gridOf(granularity, range)
          if ('bypass' in grid) {
            irregular++
            continue
          }
          regular++
          const rows = await askBuckets(druid, granularity, range)
          const where = `${period} in ${timeZone} from ${new Date(range.from).toISOString()}`
          const instants = rows.map(({ timestamp }) => new Date(timestamp).toISOString())
          assert.deepEqual(instants, startsIn(grid, range), where)
          for (const { timestamp, result } of rows) {
            const bucket = bucketAt(grid, Date.parse(timestamp))
            for (const at of [result.first, result.last]) {
              if (at !== null) assert.equal(bucketAt(grid, at), bucket, `${where}: a row at ${at}`)
            }
          }
          buckets += rows.length
        }
      }
      assert.ok(regular >= longPeriods.length - 2, `${regular} regular granularities`)
    })
  }
  t.diagnostic(`${buckets} buckets in ${zones.length} zones; ${irregular} ranges without a grid`)
  assert.ok(buckets > 30_000, `${buckets} buckets`)
})
