import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { oddZones, periods } from '../../test/rigs/zones.ts'
import { type Calendar, calendarText, isRegular } from './calendar.ts'
import {
  bucketAt,
  bucketFrom,
  bucketsBetween,
  calendarGrid,
  endOf,
  type Grid,
  isAligned,
  phaseOf,
  readGrid,
  startOf,
} from './grid.ts'
import { offsetAt, zoneOf } from './zone.ts'

const hour = 3_600_000
const day = 24 * hour

function gridOf(zone: string, period: string): Grid {
  const grid = calendarGrid({ ...periods[period]!, zone })
  assert.ok(grid)
  return grid
}

const zoneName = fc.constantFrom(...oddZones.map(({ name }) => name))
const usual = fc.tuple(zoneName, fc.constantFrom(...Object.keys(periods))).map((parts) => gridOf(...parts))
const unusual = fc
  .record({
    unit: fc.constantFrom<Calendar['unit']>('day', 'month'),
    count: fc.integer({ min: 1, max: 100 }),
    zone: zoneName,
    origin: fc.integer({ min: -4e12, max: 4e12 }),
  })
  .map(calendarGrid)
  .filter((grid) => grid !== undefined)
const grid = fc.oneof(usual, unusual)
const instant = fc.oneof(
  fc.integer({ min: Date.UTC(1850, 0), max: Date.UTC(2120, 0) }),
  fc.integer({ min: Date.UTC(2010, 0), max: Date.UTC(2012, 1) }),
  fc.integer({ min: -8e15, max: 8e15 }),
)

test('the bucket at an instant is the last that begins at or before it', () => {
  fc.assert(
    fc.property(grid, instant, (grid, instant) => {
      const bucket = bucketAt(grid, instant)
      assert.ok(Number.isInteger(bucket))
      assert.ok(startOf(grid, bucket) <= instant)
      assert.ok(startOf(grid, bucket + 1) > instant)
    }),
    { numRuns: 3000 },
  )
})

test('numbers and beginnings are each other’s inverse, and rise together; a cell ends where the next begins', () => {
  fc.assert(
    fc.property(grid, instant, (grid, instant) => {
      const bucket = bucketAt(grid, instant)
      const [start, end] = [startOf(grid, bucket), endOf(grid, bucket)]
      assert.equal(bucketAt(grid, start), bucket)
      assert.equal(bucketAt(grid, end - 1), bucket)
      assert.equal(end, startOf(grid, bucket + 1))
      assert.ok(startOf(grid, bucket - 1) <= start, 'a day that was left out begins where the next does')
      assert.equal(isAligned(grid, instant), start === instant)
      assert.equal(bucketFrom(grid, start), bucket)
      assert.equal(bucketFrom(grid, end - 1), end - 1 === start ? bucket : bucket + 1)
    }),
    { numRuns: 3000 },
  )
})

test('beginnings equal those of Date in local time, where no clock changes', () => {
  fc.assert(
    fc.property(instant, fc.constantFrom('P1D', 'P1M', 'P3M', 'P1Y'), (instant, period) => {
      const date = new Date(instant)
      const month = date.getUTCMonth()
      const firstMonth = period === 'P1Y' ? 0 : period === 'P3M' ? month - (month % 3) : month
      const first = new Date(0)
      first.setUTCFullYear(date.getUTCFullYear(), firstMonth, period === 'P1D' ? date.getUTCDate() : 1)
      const grid = gridOf('UTC', period)
      assert.equal(startOf(grid, bucketAt(grid, instant)), first.getTime())
    }),
    { numRuns: 2000 },
  )
})

const dayLengths = [
  { zone: 'America/New_York', at: '2026-03-08T12:00:00Z', hours: 23 },
  { zone: 'America/New_York', at: '2026-11-01T12:00:00Z', hours: 25 },
  { zone: 'Europe/Berlin', at: '1945-05-24T12:00:00Z', hours: 23 },
  { zone: 'Australia/Lord_Howe', at: '2026-10-03T16:00:00Z', hours: 23.5 },
  { zone: 'America/Sao_Paulo', at: '2018-11-04T12:00:00Z', hours: 23 },
  { zone: 'America/Havana', at: '2025-11-02T12:00:00Z', hours: 25 },
  { zone: 'Asia/Kathmandu', at: '1985-12-31T20:00:00Z', hours: 23.75 },
  { zone: 'Pacific/Apia', at: '2011-12-30T09:00:00Z', hours: 24 },
  { zone: 'Pacific/Apia', at: '2011-12-30T11:00:00Z', hours: 24 },
]
for (const { zone, at, hours } of dayLengths) {
  test(`the day of ${at} in ${zone} has ${hours} hours`, () => {
    const grid = gridOf(zone, 'P1D')
    const bucket = bucketAt(grid, Date.parse(at))
    assert.equal((endOf(grid, bucket) - startOf(grid, bucket)) / hour, hours)
  })
}

test('a day that was left out has a number and no length', () => {
  const grid = gridOf('Pacific/Apia', 'P1D')
  const eve = bucketAt(grid, Date.parse('2011-12-30T09:59:59Z'))
  const next = Date.parse('2011-12-30T10:00:00Z')
  assert.deepEqual(
    [bucketAt(grid, next), startOf(grid, eve + 1), startOf(grid, eve + 2)],
    [eve + 2, next, next],
  )
})

test('weeks begin on Mondays, quarters in January, also before 1970', () => {
  const at = Date.UTC(1969, 6, 20, 20, 17)
  const begins = (zone: string, period: string) => {
    const grid = gridOf(zone, period)
    return new Date(startOf(grid, bucketAt(grid, at))).toISOString().slice(0, 16)
  }
  assert.equal(begins('America/New_York', 'P1W'), '1969-07-14T04:00')
  assert.equal(begins('America/New_York', 'P3M'), '1969-07-01T04:00')
  assert.equal(begins('Asia/Kolkata', 'P1Y'), '1968-12-31T18:30')
})

test('one calendar has one origin, from wherever it is counted', () => {
  const zone = 'Europe/Berlin'
  const monday = { unit: 'day', count: 7, zone, origin: 4 * day } as const
  assert.deepEqual(calendarGrid({ ...monday, origin: Date.UTC(2026, 0, 5) })?.calendar, monday)
  const spring = { unit: 'month', count: 12, zone, origin: Date.UTC(1970, 3, 6, 12) } as const
  assert.deepEqual(calendarGrid({ ...spring, origin: Date.UTC(1923, 3, 6, 12) })?.calendar, spring)
  assert.equal(
    calendarGrid({ ...spring, origin: Date.UTC(1923, 3, 29) }),
    undefined,
    'not every month has it',
  )
})

test('an infinite instant stays infinite', () => {
  const grid = gridOf('Europe/Berlin', 'P1M')
  for (const end of [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    assert.deepEqual([bucketAt(grid, end), bucketFrom(grid, end), startOf(grid, end)], [end, end, end])
  }
  assert.ok(Number.isNaN(bucketAt(grid, Number.NaN)))
})

test('buckets are counted between beginnings of unequal distance', () => {
  const grid = gridOf('America/New_York', 'P1M')
  const [from, to] = [startOf(grid, 673), startOf(grid, 680)]
  assert.equal(bucketsBetween(grid, from, to), 7)
})

const irregular = [
  { zone: 'America/Sao_Paulo', period: 'P1D', from: '2018-11-03', to: '2018-11-05', isIrregular: true },
  { zone: 'America/Sao_Paulo', period: 'P1D', from: '2019-01-01', to: '2026-01-01', isIrregular: false },
  { zone: 'America/Sao_Paulo', period: 'P1M', from: '2010-01-01', to: '2026-01-01', isIrregular: false },
  { zone: 'America/New_York', period: 'P1D', from: '1970-01-01', to: '2026-01-01', isIrregular: false },
  { zone: 'America/Havana', period: 'P1D', from: '2025-11-01', to: '2025-11-03', isIrregular: true },
  { zone: 'America/Havana', period: 'P1W', from: '2025-11-01', to: '2025-11-03', isIrregular: false },
  { zone: 'Pacific/Apia', period: 'P1D', from: '2011-12-29', to: '2012-01-02', isIrregular: true },
]
for (const { zone, period, from, to, isIrregular } of irregular) {
  test(`${period} in ${zone} from ${from} to ${to} is ${isIrregular ? 'irregular' : 'regular'}`, () => {
    const { calendar } = gridOf(zone, period)
    assert.equal(isRegular(calendar!, Date.parse(from), Date.parse(to)), !isIrregular)
  })
}

test('days are regular where each begins at a local time that there is exactly once', () => {
  const days = grid.filter(({ calendar }) => calendar!.unit === 'day')
  const around = Array.from({ length: 33 }, (_, i) => (i - 16) * 3 * hour)
  fc.assert(
    fc.property(days, fc.integer({ min: -2e12, max: 4e12 }), (grid, instant) => {
      const { count, origin, zone: name } = grid.calendar!
      const zone = zoneOf(name)!
      const bucket = bucketAt(grid, instant)
      const isOnce = (each: number) => {
        const local = origin + each * count * day
        const shown = around.map((ms) => local - offsetAt(zone, local + ms))
        return new Set(shown.filter((at) => at + offsetAt(zone, at) === local)).size === 1
      }
      // A day that is not may take its neighbours with it, no others.
      const isSaid = isRegular(grid.calendar!, instant, instant)
      if (isSaid) assert.ok([bucket, bucket + 1].every(isOnce))
      else assert.ok(![bucket - 1, bucket, bucket + 1, bucket + 2].every(isOnce))
    }),
    { numRuns: 3000 },
  )
})

const phases = [
  { zone: 'UTC', step: hour, from: '2026-01-01', to: '2027-01-01', phase: 0 },
  { zone: 'Asia/Kolkata', step: hour, from: '2026-01-01', to: '2027-01-01', phase: hour / 2 },
  { zone: 'Asia/Kolkata', step: hour / 2, from: '2026-01-01', to: '2027-01-01', phase: 0 },
  { zone: 'America/New_York', step: hour, from: '1970-01-01', to: '2027-01-01', phase: 0 },
  { zone: 'America/New_York', step: 2 * hour, from: '2026-03-01', to: '2026-04-01', phase: undefined },
  { zone: 'America/New_York', step: 2 * hour, from: '2026-04-01', to: '2026-10-01', phase: 0 },
  { zone: 'Asia/Kathmandu', step: hour, from: '2026-01-01', to: '2027-01-01', phase: hour / 4 },
  { zone: 'Australia/Lord_Howe', step: hour, from: '2026-01-01', to: '2027-01-01', phase: undefined },
  { zone: 'Australia/Lord_Howe', step: hour / 2, from: '2026-01-01', to: '2027-01-01', phase: 0 },
  { zone: 'America/St_Johns', step: hour, from: '2026-01-01', to: '2027-01-01', phase: hour / 2 },
  { zone: 'America/St_Johns', step: hour, from: '2010-01-01', to: '2011-01-01', phase: undefined },
]
for (const { zone, step, from, to, phase } of phases) {
  test(`pieces of ${step / 60_000} min in ${zone} from ${from} to ${to}: phase ${phase}`, () => {
    assert.equal(phaseOf(zoneOf(zone)!, step, { from: Date.parse(from), to: Date.parse(to) }), phase)
  })
}

test('a grid is read as it was written, and nonsense is none', () => {
  fc.assert(
    fc.property(grid, (grid) => {
      assert.deepEqual(readGrid(JSON.parse(JSON.stringify(grid))), grid)
    }),
  )
  const point = { kind: 'point', step: 1000, origin: 999 }
  assert.deepEqual(readGrid(point), point)
  const good = gridOf('Europe/Berlin', 'P1W')
  const nonsense: unknown[] = [
    ...[
      undefined,
      null,
      1,
      'grid',
      [],
      {},
      { ...point, step: 0 },
      { ...point, origin: 1000 },
      { ...point, kind: 'x' },
    ],
    ...[
      { ...good, kind: 'point' },
      { ...good, origin: 1 },
      { ...good, step: 1 },
      { ...good, calendar: null },
    ],
    ...[
      { zone: 'Nowhere/Land' },
      { zone: 7 },
      { unit: 'week' },
      { count: 0 },
      { count: 1.5 },
      { count: '7' },
    ].map((wrong) => ({ ...good, calendar: { ...good.calendar, ...wrong } })),
    ...[-1, 7 * day, Number.NaN, '0'].map((origin) => ({ ...good, calendar: { ...good.calendar, origin } })),
  ]
  for (const value of nonsense) assert.equal(readGrid(value), undefined, JSON.stringify(value))
})

test('calendars have names', () => {
  const text = (period: string, more: Partial<Calendar> = {}) =>
    calendarText({ ...periods[period]!, zone: 'America/New_York', ...more })
  assert.equal(text('P1M'), '1 month in America/New_York')
  assert.equal(text('P1Y', { count: 24 }), '2 years in America/New_York')
  assert.equal(text('P1W'), '1 week in America/New_York, counted from 1970-01-05')
  assert.equal(text('P2D', { origin: 6 * hour }), '2 days in America/New_York, counted from 1970-01-01T06:00')
})
