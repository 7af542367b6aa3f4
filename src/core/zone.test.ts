import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { oddZones } from '../../test/rigs/zones.ts'
import { instantOf, offsetAt, transitionsIn, type Zone, zoneOf } from './zone.ts'

const hour = 3_600_000
const zoneNamed = (name: string): Zone => {
  const zone = zoneOf(name)
  assert.ok(zone, name)
  return zone
}
const zone = fc.constantFrom(...oddZones.map(({ name }) => zoneNamed(name)))
/** Mostly the years in which the zones did something, sometimes any that a date can have. */
const instant = fc.oneof(
  fc.integer({ min: Date.UTC(1850, 0), max: Date.UTC(2120, 0) }),
  fc.integer({ min: -8.64e15, max: 8.64e15 }),
)

/** Local time as Intl prints it, by another method than the code under test. */
function shownBy(name: string, instant: number): number {
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone: name, hourCycle: 'h23', era: 'short' },
    ...{
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    },
  })
  const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, value]))
  const [year, month, day, hours, minutes, seconds] = [
    'year',
    'month',
    'day',
    'hour',
    'minute',
    'second',
  ].map((type) => Number(parts.get(type as Intl.DateTimeFormatPartTypes)))
  const shown = new Date(0)
  shown.setUTCFullYear(parts.get('era') === 'BC' ? 1 - year! : year!, month! - 1, day!)
  shown.setUTCHours(hours!, minutes!, seconds!)
  return shown.getTime()
}

test('an offset is that of the clocks of the zone, in any year', () => {
  // Local times of the first and last days are no dates.
  const inside = instant.filter((each) => Math.abs(each) < 8.64e15 - 86_400_000)
  fc.assert(
    fc.property(zone, inside, (zone, instant) => {
      const second = Math.floor(instant / 1000) * 1000
      assert.equal(second + offsetAt(zone, second), shownBy(zone.name, second))
    }),
    { numRuns: 600 },
  )
})

test('a local time is the first instant at which clocks show at least that', () => {
  fc.assert(
    fc.property(zone, instant, fc.integer({ min: 0, max: 3 * hour }), (zone, instant, back) => {
      const local = instant + offsetAt(zone, instant)
      const found = instantOf(zone, local)
      assert.ok(found <= instant)
      assert.ok(found + offsetAt(zone, found) >= local)
      if (back > 0) assert.ok(found - back + offsetAt(zone, found - back) < local)
    }),
    { numRuns: 2000 },
  )
})

const local = (text: string): number => Date.parse(`${text}Z`)
const cases = [
  {
    zone: 'America/New_York',
    local: '2026-03-08T02:30',
    instant: '2026-03-08T07:00:00Z',
    why: 'left out: the end of the gap',
  },
  {
    zone: 'America/New_York',
    local: '2026-11-01T01:30',
    instant: '2026-11-01T05:30:00Z',
    why: 'twice: the earlier',
  },
  {
    zone: 'America/New_York',
    local: '1883-01-01T00:00',
    instant: '1883-01-01T04:56:02Z',
    why: 'before there were zones',
  },
  {
    zone: 'America/New_York',
    local: '4026-07-01T00:00',
    instant: '4026-07-01T04:00:00Z',
    why: 'rules go on',
  },
  {
    zone: 'Australia/Lord_Howe',
    local: '2026-10-04T02:15',
    instant: '2026-10-03T15:30:00Z',
    why: 'a gap of half an hour',
  },
  {
    zone: 'America/Sao_Paulo',
    local: '2018-11-04T00:00',
    instant: '2018-11-04T03:00:00Z',
    why: 'no midnight',
  },
  { zone: 'Pacific/Apia', local: '2011-12-30T12:00', instant: '2011-12-30T10:00:00Z', why: 'no such day' },
  {
    zone: 'America/Havana',
    local: '2025-11-02T00:00',
    instant: '2025-11-02T04:00:00Z',
    why: 'two midnights',
  },
  { zone: '+0530', local: '2026-01-01T00:00', instant: '2025-12-31T18:30:00Z', why: 'a fixed offset' },
]
for (const { zone, local: text, instant, why } of cases) {
  test(`${text} in ${zone}: ${why}`, () => {
    assert.equal(
      new Date(instantOf(zoneNamed(zone), local(text))).toISOString(),
      new Date(instant).toISOString(),
    )
  })
}

test('transitions are those of the zone', () => {
  const found = [...transitionsIn(zoneNamed('Europe/Berlin'), Date.UTC(2026, 0), Date.UTC(2027, 0))]
  assert.deepEqual(found, [
    { at: Date.UTC(2026, 2, 29, 1), before: hour, after: 2 * hour },
    { at: Date.UTC(2026, 9, 25, 1), before: 2 * hour, after: hour },
  ])
  assert.deepEqual([...transitionsIn(zoneNamed('-08:00'), -8e15, 8e15)], [])
  // A week of summer time in 2000: the shortest period in these years.
  assert.equal(
    [...transitionsIn(zoneNamed('America/Recife'), Date.UTC(2000, 9), Date.UTC(2000, 10))].length,
    2,
  )
})

test('an infinite range has an end', () => {
  const [first] = transitionsIn(zoneNamed('Asia/Kolkata'), Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)
  assert.equal(first?.at, Date.UTC(1854, 5, 27, 18, 6, 32))
})

test('names of one zone that are spelled differently, and offsets, have one name', () => {
  for (const name of ['UTC', 'Z', 'Etc/UTC', 'GMT', '+00:00', '-0000'])
    assert.equal(zoneOf(name)?.name, 'UTC')
  for (const name of ['+05:30', '+0530']) assert.equal(zoneOf(name)?.name, '+05:30')
  assert.equal(zoneOf('-08')?.fixedOffset, -8 * hour)
  assert.equal(zoneOf('Etc/GMT+5')?.fixedOffset, -5 * hour)
  assert.equal(zoneOf('America/New_York')?.fixedOffset, undefined)
})

test('an unknown zone is none, whatever its name', () => {
  const names = [
    '',
    ' ',
    'Nowhere/Land',
    '+24:00',
    '+5',
    '+05:60',
    '__proto__',
    'UTC\u0000',
    'x'.repeat(1e6),
    '../etc',
    ...['america/new_york', 'America/new_York', 'us/pacific'],
  ]
  for (const name of names) assert.equal(zoneOf(name), undefined)
  fc.assert(fc.property(fc.string(), (name) => void zoneOf(name)))
})

test('thousands of names leave no more behind than a few', () => {
  const first = zoneNamed('Europe/Berlin')
  for (let i = 0; i < 1000; i++) zoneOf(`Nowhere/Land${i}`)
  assert.notEqual(zoneNamed('Europe/Berlin'), first, 'it was forgotten, and found out again')
  assert.equal(offsetAt(zoneNamed('Europe/Berlin'), 0), hour)
})
