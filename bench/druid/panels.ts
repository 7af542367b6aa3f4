/** The queries to Druid: groupBy panels of two sizes over rows written once. */
import type { DruidAddresses } from '../../test/servers/druid/druid.ts'
import { ingest, type Row } from '../../test/servers/druid/ingest.ts'

const minute = 60_000
/** Months ago: everything is settled. */
const begin = Date.UTC(2026, 0, 1)
const windows = 16
const dataSource = 'bench_hits'
const pages = 40

export interface Panel {
  readonly name: string
  readonly minutes: number
  /** Of so many pages. */
  readonly pages: number
}

export const medium: Panel = { name: 'medium', minutes: 60, pages: 13 }
export const large: Panel = { name: 'large', minutes: 180, pages }

export async function fill(druid: DruidAddresses): Promise<void> {
  await ingest(druid, {
    dataSource,
    dimensions: ['page', 'country', { type: 'long', name: 'number' }],
    metrics: [
      { type: 'count', name: 'cnt' },
      { type: 'longSum', name: 'added', fieldName: 'added' },
      { type: 'doubleSum', name: 'delta', fieldName: 'delta' },
    ],
    segmentGranularity: 'DAY',
    rows: rows(),
  })
}

function rows(): Row[] {
  const all: Row[] = []
  for (let bucket = 0; bucket < large.minutes + windows; bucket++) {
    for (let number = 0; number < pages; number++) {
      const added = (bucket * 7919 + number * 104_729) % 100_003
      const page = `Page ${number} of the wiki`
      const country = ['DE', 'US', 'FR', 'JP', 'IN', 'BR'][number % 6]!
      all.push({ time: begin + bucket * minute, page, country, number, added, delta: added / 8 })
    }
  }
  return all
}

/** The bodies of the shifted windows that are requested in rotation, so that no two consecutive requests are equal. */
export const bodiesOf = (panel: Panel): string[] =>
  Array.from({ length: windows }, (_, shift) => bodyOf(panel, begin + shift * minute))

function bodyOf(panel: Panel, from: number): string {
  return JSON.stringify({
    queryType: 'groupBy',
    dataSource,
    granularity: 'minute',
    intervals: [`${iso(from)}/${iso(from + panel.minutes * minute)}`],
    filter: {
      type: 'bound',
      dimension: 'number',
      upper: String(panel.pages),
      upperStrict: true,
      ordering: 'numeric',
    },
    dimensions: ['page', 'country'],
    aggregations: [
      { type: 'longSum', name: 'edits', fieldName: 'cnt' },
      { type: 'longSum', name: 'added', fieldName: 'added' },
      { type: 'doubleSum', name: 'delta', fieldName: 'delta' },
    ],
  })
}

const iso = (at: number): string => new Date(at).toISOString()
