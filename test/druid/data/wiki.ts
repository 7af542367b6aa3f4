/**
 * Edits of a wiki: a middle-sized data source for differential tests, the same on every machine. Ten days in two spans,
 * about each the night on which clocks change: 2026-03-06/11 (New York on the 8th), 2026-03-27/04-02 (Berlin on the
 * 29th; nothing at all on 03-31). Its traps:
 *
 * - several segments on the days of the changes and on 04-01, some of them narrow: which buckets are empty depends on
 *   the segment;
 * - a hole of seven hours inside a segment (03-09 from 04:00), a day that begins at 09:41 (03-27) and one that ends at
 *   15:07 (04-01);
 * - every text dimension has nulls; `city` has quotes, commas, line breaks and letters beyond ASCII; `tags` has none,
 *   one or several values;
 * - sums of `big` are beyond 2^53 from an hour on, and some rows are by themselves (the sum of all still is a long);
 * - `delta` counts in eighths, so that its sums are exact; `rate` in thirds and `score` in tenths, so that the last
 *   digits of their sums depend on the interval of the query, and with groupBy over several segments on chance.
 */
import { type Random, seededRandom } from '../../fidelity/random.ts'
import type { Ingestion, Row, Table } from '../../servers/druid/ingest.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const columns: Table = {
  dataSource: 'wiki',
  dimensions: ['page', 'country', 'city', 'tags', 'robot', { type: 'long', name: 'user' }],
  metrics: [
    { type: 'count', name: 'cnt' },
    { type: 'longSum', name: 'added', fieldName: 'added' },
    { type: 'longSum', name: 'big', fieldName: 'big' },
    { type: 'doubleSum', name: 'delta', fieldName: 'delta' },
    { type: 'doubleSum', name: 'rate', fieldName: 'rate' },
    { type: 'floatSum', name: 'score', fieldName: 'score' },
    { type: 'hyperUnique', name: 'users', fieldName: 'user' },
  ],
  segmentGranularity: 'DAY',
}

const COUNTRIES = ['DE', 'US', 'FR', 'JP', 'IN', 'BR', null]
const CITIES = [
  'Berlin',
  'São Paulo',
  '東京',
  'Say "hi", city',
  "L'Aquila",
  'two\nlines',
  'back\\slash',
  '',
  null,
]
const TAGS = [null, ['stub'], ['stub', 'geo'], ['geo'], ['bio', 'geo', 'stub'], ['bio']]
const ROBOT = ['true', 'false', 'false', null]
const PAGES = 40
const USERS = 500

interface Span {
  readonly from: number
  readonly to: number
}

interface Stretch extends Span {
  /** The mean distance of two rows. */
  readonly every: number
}

const at = (month: number, day: number, hour = 0, minute = 0): number =>
  Date.UTC(2026, month - 1, day, hour, minute)

const base: readonly Stretch[] = [
  { from: at(3, 6), to: at(3, 9, 4), every: 45 * SECOND },
  { from: at(3, 9, 11), to: at(3, 11), every: 45 * SECOND },
  { from: at(3, 27, 9, 41), to: at(3, 31), every: 60 * SECOND },
  { from: at(4, 1), to: at(4, 1, 15, 7), every: 60 * SECOND },
]

/** The nights of the changes, from the evening before in local time to the evening after. */
const nights: readonly Stretch[] = [
  { from: at(3, 8, 3), to: at(3, 8, 12), every: 90 * SECOND },
  { from: at(3, 28, 21), to: at(3, 29, 6), every: 90 * SECOND },
]

/** A few rows far apart: their segments are empty in between. */
const sparse: readonly Stretch[] = [
  { from: at(3, 8), to: at(3, 9), every: 3 * HOUR },
  { from: at(4, 1), to: at(4, 2), every: 4 * HOUR },
]

/** Whole days in UTC, for the choice of windows. */
export const wikiSpans: readonly Span[] = [
  { from: at(3, 6), to: at(3, 11) },
  { from: at(3, 27), to: at(4, 2) },
]

export const wiki: readonly Ingestion[] = [base, nights, sparse].map((stretches, part) => ({
  ...columns,
  rows: stretches.flatMap((stretch, index) => rowsOf(stretch, seededRandom(part, index))),
  append: part > 0,
}))

function rowsOf({ from, to, every }: Stretch, random: Random): Row[] {
  const rows: Row[] = []
  for (let time = from; time < to; time += random.int(1, 2 * every)) rows.push(row(time, random))
  return rows
}

function row(time: number, random: Random): Row {
  // Low numbers are far more frequent, as with real pages; some hours of the day have other pages than others.
  const hour = Math.floor((time % DAY) / HOUR)
  const page = Math.floor(PAGES * random.next() ** 3) + (hour % 3)
  return {
    time,
    page: random.chance(0.02) ? null : `Page ${page}`,
    country: random.pick(COUNTRIES),
    city: random.pick(CITIES),
    tags: random.pick(TAGS),
    robot: random.pick(ROBOT),
    user: random.chance(0.1) ? null : random.int(1, USERS),
    added: random.int(-50, 1000),
    big: (random.chance(1 / 64) ? 2n ** 53n : 2n ** 48n) + BigInt(random.int(1, 1_000_000)),
    delta: random.int(-800, 800) / 8,
    rate: random.int(1, 1000) / 3,
    score: random.int(1, 100) / 10,
  }
}
