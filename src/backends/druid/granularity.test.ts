import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { oddZones, periods } from '../../../test/rigs/zones.ts'
import { bucketAt, type Grid, startOf } from '../../core/grid.ts'
import type { Span } from './druid-plan.ts'
import { gridOf } from './granularity.ts'

interface GranularityCase {
  readonly granularity: string | object
  /** Half-open. */
  readonly range: string
  /** The buckets that overlap the range, the first as if it were whole. */
  readonly starts: string
}

/** Where buckets begin for Druid itself, from its own code (33.0.0). Omitted times are 0, and all are in UTC. */
const table = `
second | 2026-01-01T00:00:00.500Z/2026-01-01T00:00:02Z | 2026-01-01 2026-01-01T00:00:01Z
minute | 1969-12-31T23:58:30Z/1970-01-01T00:01Z | 1969-12-31T23:58Z 1969-12-31T23:59Z 1970-01-01
Five_Minute | 2026-01-01T00:03Z/2026-01-01T00:11Z | 2026-01-01 2026-01-01T00:05Z 2026-01-01T00:10Z
ten_minute | 2026-01-01T00:03Z/2026-01-01T00:21Z | 2026-01-01 2026-01-01T00:10Z 2026-01-01T00:20Z
fifteen_minute | 2026-01-01T00:03Z/2026-01-01T00:31Z | 2026-01-01 2026-01-01T00:15Z 2026-01-01T00:30Z
THIRTY_MINUTE | 2026-01-01T00:03Z/2026-01-01T01:31Z | 2026-01-01 2026-01-01T00:30Z 2026-01-01T01:00Z 2026-01-01T01:30Z
hour | 2026-01-01T00:03Z/2026-01-01T02:31Z | 2026-01-01 2026-01-01T01:00Z 2026-01-01T02:00Z
six_hour | 2026-01-01T00:03Z/2026-01-01T12:31Z | 2026-01-01 2026-01-01T06:00Z 2026-01-01T12:00Z
eight_hour | 2026-01-01T00:03Z/2026-01-01T12:31Z | 2026-01-01 2026-01-01T08:00Z
day | 1969-12-30T05:00Z/1970-01-02 | 1969-12-30 1969-12-31 1970-01-01
week | 2026-01-01/2026-01-13 | 2025-12-29 2026-01-05 2026-01-12
month | 2026-01-15/2026-04-01 | 2026-01-01 2026-02-01 2026-03-01
quarter | 2025-12-15/2026-08-01 | 2025-10-01 2026-01-01 2026-04-01 2026-07-01
year | 2023-12-15/2026-08-01 | 2023-01-01 2024-01-01 2025-01-01 2026-01-01
{"type":"duration","duration":7200000} | 2025-12-31T23:00Z/2026-01-01T03:00Z | 2025-12-31T22:00Z 2026-01-01 2026-01-01T02:00Z
{"type":"duration","duration":"3600000","origin":"2020-01-01T00:10:00"} | 2026-01-01/2026-01-01T02:00Z | 2025-12-31T23:10Z 2026-01-01T00:10Z 2026-01-01T01:10Z
{"type":"duration","duration":3600000,"origin":1577837400000} | 2026-01-01/2026-01-01T02:00Z | 2025-12-31T23:10Z 2026-01-01T00:10Z 2026-01-01T01:10Z
{"type":"period","period":"PT1H","timeZone":"Asia/Kolkata"} | 2026-01-01/2026-01-01T03:00Z | 2025-12-31T23:30Z 2026-01-01T00:30Z 2026-01-01T01:30Z 2026-01-01T02:30Z
{"type":"period","period":"PT1H","timeZone":"Asia/Kathmandu"} | 2026-01-01/2026-01-01T03:00Z | 2025-12-31T23:15Z 2026-01-01T00:15Z 2026-01-01T01:15Z 2026-01-01T02:15Z
{"type":"period","period":"PT1H","timeZone":"America/New_York"} | 2026-11-01T04:30Z/2026-11-01T07:30Z | 2026-11-01T04:00Z 2026-11-01T05:00Z 2026-11-01T06:00Z 2026-11-01T07:00Z
{"type":"period","period":"PT30M","timeZone":"Australia/Lord_Howe"} | 2026-10-03T15:00Z/2026-10-03T16:30Z | 2026-10-03T15:00Z 2026-10-03T15:30Z 2026-10-03T16:00Z
{"type":"period","period":"PT1H","timeZone":"Australia/Lord_Howe"} | 2026-07-01/2026-07-01T03:00Z | 2026-06-30T23:30Z 2026-07-01T00:30Z 2026-07-01T01:30Z 2026-07-01T02:30Z
{"type":"period","period":"PT6H","timeZone":"America/New_York"} | 2026-03-08/2026-03-09 | 2026-03-07T23:00Z 2026-03-08T05:00Z 2026-03-08T11:00Z 2026-03-08T17:00Z 2026-03-08T23:00Z
{"type":"period","period":"PT6H","timeZone":"Asia/Kolkata"} | 2026-03-08/2026-03-09 | 2026-03-07T18:30Z 2026-03-08T00:30Z 2026-03-08T06:30Z 2026-03-08T12:30Z 2026-03-08T18:30Z
{"type":"period","period":"PT6H","timeZone":"Europe/Berlin"} | 2026-03-28T12:00Z/2026-03-29T12:00Z | 2026-03-28T11:00Z 2026-03-28T17:00Z 2026-03-28T23:00Z 2026-03-29T05:00Z 2026-03-29T11:00Z
{"type":"period","period":"PT15M","timeZone":"Asia/Kathmandu"} | 2026-03-08/2026-03-08T00:40Z | 2026-03-08 2026-03-08T00:15Z 2026-03-08T00:30Z
{"type":"period","period":"PT1H","origin":"2020-01-01T00:10:00+05:30"} | 2026-01-01/2026-01-01T02:00Z | 2025-12-31T23:40Z 2026-01-01T00:40Z 2026-01-01T01:40Z
{"type":"period","period":"PT2H","timeZone":"America/New_York","origin":"2020-01-01T00:10"} | 2026-01-01/2026-01-01T05:00Z | 2025-12-31T22:10Z 2026-01-01T00:10Z 2026-01-01T02:10Z 2026-01-01T04:10Z
{"type":"period","period":"P1D","timeZone":"America/New_York"} | 2026-03-07/2026-03-10 | 2026-03-06T05:00Z 2026-03-07T05:00Z 2026-03-08T05:00Z 2026-03-09T04:00Z
{"type":"period","period":"P1D","timeZone":"America/New_York"} | 2026-10-31/2026-11-03 | 2026-10-30T04:00Z 2026-10-31T04:00Z 2026-11-01T04:00Z 2026-11-02T05:00Z
{"type":"period","period":"P1D","timeZone":"Europe/Berlin"} | 2026-03-28/2026-03-31 | 2026-03-27T23:00Z 2026-03-28T23:00Z 2026-03-29T22:00Z 2026-03-30T22:00Z
{"type":"period","period":"P1D","timeZone":"+05:30"} | 2026-03-28/2026-03-30 | 2026-03-27T18:30Z 2026-03-28T18:30Z 2026-03-29T18:30Z
{"type":"period","period":"P1D","timeZone":"-0330"} | 1969-03-28/1969-03-30 | 1969-03-27T03:30Z 1969-03-28T03:30Z 1969-03-29T03:30Z
{"type":"period","period":"P1D","timeZone":"America/Sao_Paulo"} | 2018-12-01/2018-12-03 | 2018-11-30T02:00Z 2018-12-01T02:00Z 2018-12-02T02:00Z
{"type":"period","period":"P1D","timeZone":"America/New_York","origin":"2020-01-01T11:00:00Z"} | 2026-03-07/2026-03-10 | 2026-03-06T11:00Z 2026-03-07T11:00Z 2026-03-08T10:00Z 2026-03-09T10:00Z
{"type":"period","period":"P2D","timeZone":"Europe/Berlin"} | 2026-03-26/2026-04-01 | 2026-03-25T23:00Z 2026-03-27T23:00Z 2026-03-29T22:00Z 2026-03-31T22:00Z
{"type":"period","period":"P7D"} | 2026-01-01/2026-01-13 | 2026-01-01 2026-01-08
{"type":"period","period":"P1W","timeZone":"America/New_York"} | 2026-03-01/2026-03-17 | 2026-02-23T05:00Z 2026-03-02T05:00Z 2026-03-09T04:00Z 2026-03-16T04:00Z
{"type":"period","period":"P2W","timeZone":"Asia/Kolkata"} | 2026-03-01/2026-04-01 | 2026-02-25T18:30Z 2026-03-11T18:30Z 2026-03-25T18:30Z
{"type":"period","period":"P1M","timeZone":"Europe/Berlin"} | 2026-02-10/2026-05-01 | 2026-01-31T23:00Z 2026-02-28T23:00Z 2026-03-31T22:00Z 2026-04-30T22:00Z
{"type":"period","period":"P1M","origin":"2020-01-15"} | 2026-02-10/2026-05-01 | 2026-01-15 2026-02-15 2026-03-15 2026-04-15
{"type":"period","period":"P2M","timeZone":"America/New_York"} | 2026-02-10/2026-09-01 | 2026-01-01T05:00Z 2026-03-01T05:00Z 2026-05-01T04:00Z 2026-07-01T04:00Z
{"type":"period","period":"P3M","timeZone":"Pacific/Apia"} | 2011-11-01/2012-08-01 | 2011-10-01T10:00Z 2011-12-31T10:00Z 2012-03-31T10:00Z 2012-06-30T11:00Z
{"type":"period","period":"P1Y","timeZone":"Asia/Kolkata"} | 2024-11-01/2026-08-01 | 2023-12-31T18:30Z 2024-12-31T18:30Z 2025-12-31T18:30Z
{"type":"period","period":"P10Y"} | 1964-11-01/1986-08-01 | 1960-01-01 1970-01-01 1980-01-01
{"type":"period","period":"P1DT12H"} | 2026-01-01/2026-01-04 | 2026-01-01 2026-01-02T12:00Z
{"type":"period","period":"PT1H30M","timeZone":"-05:00"} | 2026-01-01/2026-01-01T04:00Z | 2025-12-31T23:00Z 2026-01-01T00:30Z 2026-01-01T02:00Z 2026-01-01T03:30Z
{"type":"period","period":"PT0.5S"} | 2026-01-01T00:00:00.100Z/2026-01-01T00:00:01.100Z | 2026-01-01 2026-01-01T00:00:00.500Z 2026-01-01T00:00:01Z
{"type":"period","period":"P0DT1H"} | 2026-01-01/2026-01-01T02:00Z | 2026-01-01 2026-01-01T01:00Z
`

const granularityCases: readonly GranularityCase[] = table
  .trim()
  .split('\n')
  .map((line) => {
    const [granularity = '', range = '', starts = ''] = line.split(' | ')
    return { granularity: granularity.startsWith('{') ? JSON.parse(granularity) : granularity, range, starts }
  })

function rangeOf(text: string): Span {
  const [from, to] = text.split('/').map((part) => Date.parse(part))
  return { from: from!, to: to! }
}

function startsOn(grid: Grid, { from, to }: Span): number[] {
  const [first, last] = [bucketAt(grid, from), bucketAt(grid, to - 1)]
  return Array.from({ length: last - first + 1 }, (_, i) => startOf(grid, first + i))
}

for (const { granularity, range, starts } of granularityCases) {
  test(`${JSON.stringify(granularity)} over ${range} begins as in Druid`, () => {
    const grid = gridOf(granularity, rangeOf(range))
    assert.ok(!('bypass' in grid), JSON.stringify(grid))
    assert.equal(grid.kind, 'cell')
    const expected = starts.split(' ').map((text) => new Date(text).toISOString())
    assert.deepEqual(
      startsOn(grid, rangeOf(range)).map((start) => new Date(start).toISOString()),
      expected,
    )
  })
}

const period = (text: string, timeZone?: string, origin?: unknown): object => ({
  ...{ type: 'period', period: text },
  ...(timeZone !== undefined && { timeZone }),
  ...(origin !== undefined && { origin }),
})

const year = '2026-01-01/2027-01-01'
const irregular: readonly (readonly [granularity: unknown, range: string, why: string])[] = [
  ['all', year, 'one bucket, as long as the range'],
  ['None', year, 'a bucket per row'],
  [{ type: 'all' }, year, 'the same'],
  [{ type: 'none' }, year, 'the same'],
  [
    period('P1D', 'America/Sao_Paulo'),
    '2018-11-01/2018-11-10',
    'days after one without midnight begin at 01:00',
  ],
  [period('P1D', 'America/Havana'), '2025-11-01/2025-11-10', 'a day with two midnights begins at either'],
  [period('P1W', 'America/Havana'), '2014-03-01/2014-03-15', 'a week is found by way of its days'],
  [period('P1D', 'Pacific/Apia'), '2011-12-25/2012-01-05', 'a day is missing'],
  [
    period('P1D', 'America/New_York', '2020-01-01T07:30Z'),
    '2026-03-01/2026-03-15',
    'there is no 02:30 on the 8th',
  ],
  [period('PT1H', 'Australia/Lord_Howe'), year, 'clocks are set by half an hour'],
  [period('PT1H', 'America/St_Johns'), '2010-01-01/2011-01-01', 'clocks are set a minute after midnight'],
  [period('PT6H', 'Asia/Kathmandu'), year, 'the origin has another offset, and hours are rounded twice'],
  ['six_hour', '1969-12-31/1970-01-02', 'hours before an origin of 0 are rounded up'],
  [
    period('PT2H', undefined, '1969-06-01'),
    '1969-01-01/1969-02-01',
    'hours before an early origin are rounded up',
  ],
  [period('P1DT12H', 'Europe/Berlin'), year, 'lengths pile up from the origin'],
  [period('P1M1D'), year, 'months have no length'],
  [period('P1DT12H', '+05:30'), '2026-01-01/2026-01-05', 'remainders of an origin before 1970'],
  [{ type: 'duration', duration: 7000, origin: 1 }, '1969-12-31/1970-01-02', 'remainders change their sign'],
  [period('P1M', undefined, '2020-01-31'), year, 'not every month has a 31st'],
  [period('P1Y', undefined, '2020-02-29'), year, 'not every year has a 29 February'],
  [period('P1D', 'Europe/Berlin'), '1969-01-01/1969-02-01', 'before 1970 editions of the rules differ'],
  [period('P1D', 'Europe/Berlin'), '2099-01-01/2101-01-01', 'nobody knows'],
  [period('P1D', 'Europe/Berlin', '1960-01-01'), year, 'counted from where editions differ'],
]
for (const [granularity, range, why] of irregular) {
  test(`${JSON.stringify(granularity)} over ${range} has no grid: ${why}`, () => {
    const found = gridOf(granularity, rangeOf(range))
    assert.equal('bypass' in found && found.bypass, 'irregular_granularity')
  })
}

const unread: readonly unknown[] = [
  ...[
    undefined,
    null,
    3_600_000,
    true,
    [],
    {},
    '',
    ' day',
    'P1D',
    'PT1H',
    'fortnight',
    'constructor',
    '__proto__',
  ],
  ...[{ type: 'day' }, { type: 'PERIOD', period: 'PT1H' }, { period: 'PT1H' }],
  ...[{ type: 'duration' }, { type: 'duration', duration: 0 }, { type: 'duration', duration: -1 }],
  ...[
    { type: 'duration', duration: 1.5 },
    { type: 'duration', duration: '3.6e6' },
  ],
  ...[
    { type: 'duration', duration: 1000, origin: '1577837400000' },
    { type: 'duration', duration: 1000, origin: {} },
  ],
  ...['', 'P', 'PT', 'P0D', 'P-1D', 'p1d', ' P1D', 'P1H', 'PT1D', 'P99999999999D', 60_000, null].map(
    (text) => ({
      type: 'period',
      period: text,
    }),
  ),
  ...['', 'Nowhere/Land', 'america/new_york', 'PST', 'EST', 'UTC+3', '+24:00', 5, {}].map((timeZone) => ({
    ...{ type: 'period', period: 'P1D', timeZone },
  })),
  ...['', '2020', '2020-02-30', '2020-01-01T24:00', '2020-01-01 00:10:00', '0', true, 0.5].map((origin) => ({
    ...{ type: 'period', period: 'P1D', origin },
  })),
]
test('granularities that Druid refuses, or may read in another way, are not read', () => {
  for (const granularity of unread) {
    const found = gridOf(granularity, rangeOf(year))
    assert.equal('bypass' in found && found.bypass, 'invalid_parameter', JSON.stringify(granularity))
  }
})

test('null is nothing: no zone and no origin', () => {
  const plain = gridOf(period('P1D'), rangeOf(year))
  assert.deepEqual(gridOf({ ...period('P1D'), timeZone: null, origin: null }, rangeOf(year)), plain)
  assert.deepEqual(gridOf('day', rangeOf(year)), plain)
})

test('equal buckets are one grid, in whatever notation', () => {
  const grids = [
    [period('P1D', 'Europe/Berlin'), period('P1D', 'Europe/Berlin', '2021-05-04T22:00:00Z')],
    [period('P1W', 'Europe/Berlin'), period('P7D', 'Europe/Berlin', '2021-05-03T00:00:00+02:00')],
    [period('P1Y'), period('P12M', 'Z')],
    [period('PT60M'), { type: 'duration', duration: 3_600_000 }],
    ['week', { type: 'duration', duration: 604_800_000, origin: '2026-01-05' }],
  ]
  for (const group of grids) {
    const [one, other] = group.map((granularity) => gridOf(granularity, rangeOf(year)))
    assert.deepEqual(one, other)
  }
})

test('a part of a range lies on the grid of the whole', () => {
  const granularity = fc
    .tuple(
      fc.constantFrom(...oddZones.map(({ name }) => name)),
      fc.constantFrom(...Object.keys(periods), 'PT1H', 'PT6H'),
    )
    .map(([zone, text]) => period(text, zone))
  const instants = fc.array(fc.integer({ min: 0, max: 2e12 }), { minLength: 4, maxLength: 4 })
  fc.assert(
    fc.property(granularity, instants, (granularity, unsorted) => {
      const [a, b, c, d] = unsorted.toSorted((x, y) => x - y)
      const whole = gridOf(granularity, { from: a!, to: d! })
      if ('bypass' in whole) return
      assert.deepEqual(gridOf(granularity, { from: b!, to: c! }), whole)
    }),
  )
})

test('whatever is sent, an answer comes', () => {
  const json = fc.oneof(
    fc.jsonValue(),
    fc.record({ type: fc.constantFrom('period', 'duration'), period: fc.string(), duration: fc.jsonValue() }),
    fc.record({ type: fc.constant('period'), period: fc.constantFrom('P1D', 'PT1H'), timeZone: fc.string() }),
    fc.record({ type: fc.constant('period'), period: fc.constant('P1M'), origin: fc.jsonValue() }),
  )
  const wide = { from: -62_135_596_800_000, to: 253_402_300_800_000 }
  fc.assert(fc.property(json, (value) => void gridOf(value, wide)))
})
