import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { oddZones } from '../../../test/rigs/zones.ts'
import { dayAt, exactZone, instantAt, localAt, parsePeriod, shift, times } from './zoned.ts'

const newYork = exactZone('America/New_York')!
const iso = (at: number | undefined): string => (at === undefined ? 'none' : new Date(at).toISOString())

test('zones are called as Joda calls them: by any other name Druid takes GMT', () => {
  for (const { name } of oddZones) assert.ok(exactZone(name) !== undefined, name)
  for (const name of [
    '',
    'utc',
    'america/new_york',
    'EST',
    'Mars/Olympus',
    '+5:30',
    '+25:00',
    'x'.repeat(1000),
  ]) {
    assert.equal(exactZone(name), undefined, name)
  }
})

test('an instant is its local time again, or comes an hour after one that is', () => {
  const instants = fc.integer({ min: Date.UTC(2005, 0), max: Date.UTC(2035, 0) })
  fc.assert(
    fc.property(fc.constantFrom(...oddZones), instants, ({ name }, at) => {
      const zone = exactZone(name)!
      const first = instantAt(zone, localAt(zone, at))
      assert.ok(first !== undefined && first <= at && at - first < 24 * 3_600_000)
      assert.equal(localAt(zone, first), localAt(zone, at))
    }),
  )
})

test('local times that do not exist have no instant', () => {
  assert.equal(instantAt(newYork, Date.UTC(2026, 2, 8, 2, 30)), undefined)
  assert.equal(iso(instantAt(newYork, Date.UTC(2026, 10, 1, 1, 30))), '2026-11-01T05:30:00.000Z')
  assert.equal(dayAt(exactZone('America/Sao_Paulo')!, Date.UTC(2018, 10, 4, 12)), undefined)
  for (const local of [Number.NaN, Number.POSITIVE_INFINITY, 1e300])
    assert.equal(instantAt(newYork, local), undefined)
})

test('months and days are local, hours are not', () => {
  const at = Date.parse('2026-03-08T15:30:00Z')
  const cases: readonly (readonly [string, number, string])[] = [
    ['P1D', -1, '2026-03-07T16:30:00.000Z'],
    ['PT24H', -1, '2026-03-07T15:30:00.000Z'],
    ['P1W', 1, '2026-03-15T15:30:00.000Z'],
    ['P1M', -1, '2026-02-08T16:30:00.000Z'],
    ['P1Y', 1, '2027-03-08T16:30:00.000Z'],
    ['P1DT12H', -2, '2026-03-05T16:30:00.000Z'],
    ['P9999Y', 999_999_999, 'none'],
  ]
  for (const [text, count, expected] of cases) {
    assert.equal(iso(shift(newYork, at, times(parsePeriod(text)!, count))), expected, text)
  }
  assert.equal(
    iso(shift(newYork, Date.UTC(2024, 0, 31, 12), parsePeriod('P1M')!)),
    '2024-02-29T12:00:00.000Z',
  )
  assert.equal(shift(newYork, Date.parse('2026-03-07T07:30:00Z'), parsePeriod('P1D')!), undefined)
})

test('periods in one unit, or of days and times', () => {
  for (const text of ['', 'P', 'PT', 'P1', '1D', 'P1H', 'P-1D', 'P1.5D', 'p1d', 'P1Y2M', 'P1DT']) {
    assert.equal(parsePeriod(text), undefined, text)
  }
  assert.deepEqual(parsePeriod('P2W3DT4H5M6S'), { months: 0, days: 17, ms: 14_706_000 })
})

test('months are added in the years 0 to 99, too', () => {
  const may50 = new Date(0).setUTCFullYear(50, 4, 31)
  assert.equal(iso(shift(exactZone('UTC')!, may50, parsePeriod('P1M')!)), '0050-06-30T00:00:00.000Z')
})
