import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { bucketAt, type Grid, startOf } from '../../core/grid.ts'
import { oddZones, periods } from '../../testing/zones.ts'
import type { Span } from './druid-plan.ts'
import { gridOf } from './granularity.ts'
import { granularityCases } from './granularity-cases.ts'

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
