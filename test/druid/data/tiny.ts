/**
 * A data source small enough to know by heart: 2026-01-01, 02, 03 and 05 (a segment each, none on the 4th), every hour
 * four rows. `added` counts 1, 2, 3 …; `delta` is an eighth of it. A hole of four hours inside the first segment, the
 * second begins at 06:20, the third ends at 20:50.
 */
import type { Ingestion, Row, Table } from '../../servers/druid/ingest.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const columns: Table = {
  dataSource: 'tiny',
  dimensions: ['page', 'country'],
  metrics: [
    { type: 'count', name: 'cnt' },
    { type: 'longSum', name: 'added', fieldName: 'added' },
    { type: 'doubleSum', name: 'delta', fieldName: 'delta' },
  ],
  segmentGranularity: 'DAY',
}

const inEveryHour = [
  { minute: 20, page: 'A', country: 'US' },
  { minute: 20, page: 'B', country: 'DE' },
  { minute: 45, page: 'A', country: 'DE' },
  { minute: 50, page: 'C', country: null },
]

function hasRows(day: number, hour: number): boolean {
  if (day === 1) return hour < 10 || hour > 13
  if (day === 2) return hour >= 6
  return day !== 3 || hour <= 20
}

function tinyRows(): Row[] {
  const rows: Row[] = []
  for (const day of [1, 2, 3, 5]) {
    for (let hour = 0; hour < 24; hour++) {
      if (!hasRows(day, hour)) continue
      for (const { minute, page, country } of inEveryHour) {
        const added = rows.length + 1
        const time = Date.UTC(2026, 0, day) + hour * HOUR + minute * MINUTE
        rows.push({ time, page, country, added, delta: added / 8 })
      }
    }
  }
  return rows
}

/** Two rows for days that are long over, to be appended: one into the hole, one beside other rows. */
export const lateRows: readonly Row[] = [
  { time: Date.UTC(2026, 0, 1, 11, 30), page: 'L', country: 'US', added: 1000, delta: 125 },
  { time: Date.UTC(2026, 0, 2, 6, 20), page: 'L', country: 'US', added: 2000, delta: 250 },
]

export const tiny: Ingestion = { ...columns, rows: tinyRows() }
