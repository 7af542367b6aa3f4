/**
 * A few rows a week over three years, for buckets of weeks, months, quarters and years: 2023-01-01/2026-01-01 in segments
 * of a month. There is a row on the last millisecond and the first one of every month, in UTC and in New York, so
 * that a boundary that is off by anything shows; 2024-02-29 has rows; 2024-07 and 2025-04 have none at all.
 */
import { seededRandom } from '../../fidelity/random.ts'
import type { Ingestion, Row, Table } from '../../servers/druid/ingest.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const columns: Table = {
  dataSource: 'years',
  dimensions: ['shop', 'kind'],
  metrics: [
    { type: 'count', name: 'cnt' },
    { type: 'longSum', name: 'sold', fieldName: 'sold' },
    { type: 'doubleSum', name: 'price', fieldName: 'price' },
  ],
  segmentGranularity: 'MONTH',
}

const FROM = Date.UTC(2023, 0, 1)
const TO = Date.UTC(2026, 0, 1)
const WITHOUT = ['2024-07', '2025-04']
const SHOPS = ['north', 'south', 'east', null]
const KINDS = ['book', 'pen', 'map']

export const yearsSpan = { from: FROM, to: TO }

export const years: Ingestion = { ...columns, rows: yearsRows() }

function yearsRows(): Row[] {
  const random = seededRandom(3)
  const times = [...boundaries()]
  for (let time = FROM; time < TO; time += random.int(HOUR, 4 * DAY)) times.push(time)
  times.push(Date.UTC(2024, 1, 29, 12), Date.UTC(2024, 1, 29, 23, 59, 59, 999))
  return times.filter(hasRows).map((time, index) => ({
    time,
    shop: random.pick(SHOPS),
    kind: random.pick(KINDS),
    sold: index + 1,
    price: random.int(1, 4000) / 4,
  }))
}

function* boundaries(): Generator<number> {
  for (let month = 0; month < 36; month++) {
    const utc = Date.UTC(2023, month, 1)
    for (const first of [utc, utc + hoursBehind(utc) * HOUR]) {
      yield first
      yield first - 1
    }
  }
}

/** How far New York is behind UTC on the first of a month: its clocks change after the first of March and of November. */
function hoursBehind(firstOfMonth: number): number {
  const month = new Date(firstOfMonth).getUTCMonth()
  return month >= 3 && month <= 10 ? 4 : 5
}

function hasRows(time: number): boolean {
  return time >= FROM && time < TO && !WITHOUT.includes(new Date(time).toISOString().slice(0, 7))
}
