/**
 * The grid of a Druid granularity, over the range of a query. Druid finds the bucket of a row in one way and goes from
 * bucket to bucket in another; where the two do not agree, there is no grid and the query is forwarded. The rules are
 * those of PeriodGranularity and DurationGranularity, oddities included.
 */
import { type Calendar, isRegular } from '../../core/calendar.ts'
import type { EpochMs } from '../../core/clock.ts'
import { calendarGrid, type Grid, gridThrough, phaseOf } from '../../core/grid.ts'
import { isWithin } from '../../core/interval.ts'
import { dayMs, fixedMs, type Period, periodIn } from '../../core/iso.ts'
import { instantOf, type LocalMs, offsetAt, type Zone, zoneOf } from '../../core/zone.ts'
import type { Span } from './druid-plan.ts'
import { parseInstant } from './interval-text.ts'
import { type Bypass, invalid } from './reasons.ts'
import { exactZone } from './zoned.ts'

export const simplePeriods: Readonly<Record<string, string>> = {
  SECOND: 'PT1S',
  MINUTE: 'PT1M',
  FIVE_MINUTE: 'PT5M',
  TEN_MINUTE: 'PT10M',
  FIFTEEN_MINUTE: 'PT15M',
  THIRTY_MINUTE: 'PT30M',
  HOUR: 'PT1H',
  SIX_HOUR: 'PT6H',
  EIGHT_HOUR: 'PT8H',
  DAY: 'P1D',
  WEEK: 'P1W',
  MONTH: 'P1M',
  QUARTER: 'P3M',
  YEAR: 'P1Y',
}

const secondMs = 1000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
/** 1970 began on a Thursday. */
const firstMonday = 4 * dayMs
/** Before it, editions of the zone rules differ for many zones; so far ahead, the rules are unknown. */
const calendarRange: Span = { from: 0, to: Date.UTC(2100, 0) }

/** The grid of a granularity as it stands in the JSON of a query. */
export function gridOf(granularity: unknown, range: Span): Grid | Bypass {
  if (typeof granularity === 'string') return simple(granularity.toUpperCase(), range)
  if (typeof granularity !== 'object' || granularity === null) return invalid('no granularity that is known')
  const { type, ...fields } = granularity as Record<string, unknown>
  switch (type) {
    case 'period':
      return period(fields, range)
    case 'duration':
      return duration(fields, range)
    case 'all':
    case 'none':
      return irregular(`granularity ${type}`)
    default:
      return invalid('no type of granularity that is known')
  }
}

const irregular = (detail: string): Bypass => ({ bypass: 'irregular_granularity', detail })

function simple(name: string, range: Span): Grid | Bypass {
  if (name === 'ALL' || name === 'NONE') return irregular(`granularity ${name.toLowerCase()}`)
  const text = Object.hasOwn(simplePeriods, name) ? simplePeriods[name] : undefined
  return text === undefined ? invalid('no granularity that is known') : period({ period: text }, range)
}

function duration(fields: Readonly<Record<string, unknown>>, range: Span): Grid | Bypass {
  const step = readDuration(fields['duration'])
  const origin = readOrigin(fields['origin'])
  if (step === undefined || origin === 'unreadable') return invalid('a duration that is not read here')
  const grid = remainderGrid(step, origin ?? 0, range)
  return grid ?? irregular('an origin on the other side of 1970')
}

function readDuration(value: unknown): number | undefined {
  const ms = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  return typeof ms === 'number' && Number.isSafeInteger(ms) && ms > 0 ? ms : undefined
}

/** Druid subtracts remainders, and these have the sign of the dividend. */
function remainderGrid(step: number, origin: EpochMs, { from, to }: Span): Grid | undefined {
  const rest = origin % step
  const isFloor = rest === 0 || (rest > 0 ? from >= 0 : to <= 0)
  return isFloor ? gridThrough('cell', step, origin) : undefined
}

function period(fields: Readonly<Record<string, unknown>>, range: Span): Grid | Bypass {
  const parts = readPeriod(fields['period'])
  const origin = readOrigin(fields['origin'])
  if (parts === undefined || origin === 'unreadable') return invalid('a period that is not read here')
  const zone = readZone(fields['timeZone'])
  if (zone === undefined) return invalid('a time zone that is not known here')
  const grid = periodGrid(parts, { zone, origin, range })
  return grid ?? irregular(`buckets that move within the range, in ${zone.name}`)
}

const periodPattern =
  /^P(?:(\d{1,6})Y)?(?:(\d{1,6})M)?(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:\.(\d{1,3}))?S)?)?$/

/** `P1DT12H`; undefined where it is longer than nothing in no unit. */
function readPeriod(text: unknown): Period | undefined {
  const match = typeof text === 'string' ? periodPattern.exec(text) : null
  const parts = match === null ? undefined : periodIn(match)
  return parts !== undefined && Object.values(parts).some((count) => count > 0) ? parts : undefined
}

/** Other forms of an instant are not read here. */
const originPattern = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?$/

/** An instant as text, in UTC where it names no offset, or as a number; undefined where none is given. */
function readOrigin(value: unknown): EpochMs | undefined | 'unreadable' {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : 'unreadable'
  const isRead = typeof value === 'string' && originPattern.test(value)
  return (isRead ? parseInstant(value) : undefined) ?? 'unreadable'
}

/** Druid knows abbreviations that mean something else elsewhere. */
function readZone(value: unknown): Zone | undefined {
  if (value === undefined || value === null) return zoneOf('UTC')
  if (typeof value !== 'string') return undefined
  // Druid silently takes GMT for every name that it does not know in exactly this spelling.
  if (value.includes('/')) return exactZone(value)
  return /^(?:UTC|GMT|Z|[+-]\d\d(?::?\d\d)?)$/.test(value) ? zoneOf(value) : undefined
}

interface Terms {
  readonly zone: Zone
  /** Where the query gives one. */
  readonly origin: EpochMs | undefined
  readonly range: Span
}

function periodGrid(parts: Period, terms: Terms): Grid | undefined {
  const [first, ...others] = Object.entries(parts).filter(([, count]) => count > 0)
  if (others.length > 0) return compoundGrid(parts, terms)
  const [unit, count] = first as [keyof Period, number]
  switch (unit) {
    case 'years':
      return localGrid({ unit: 'month', count: 12 * count }, terms)
    case 'months':
      return localGrid({ unit: 'month', count }, terms)
    case 'weeks':
      return count === 1 && terms.origin === undefined
        ? weekGrid(terms)
        : localGrid({ unit: 'day', count: 7 * count }, terms)
    case 'days':
      return localGrid({ unit: 'day', count }, terms)
    case 'hours':
      return count === 1 && terms.origin === undefined ? flooredGrid(hourMs, terms) : hoursGrid(count, terms)
    case 'minutes':
      return clockGrid(minuteMs, count, terms)
    case 'seconds':
      return clockGrid(secondMs, count, terms)
    case 'millis':
      return gridThrough('cell', count, originIn(terms))
  }
}

/** A fixed length where days have one; elsewhere Druid goes step by step from the origin, and lengths pile up. */
function compoundGrid(parts: Period, { zone, origin, range }: Terms): Grid | undefined {
  if (zone.fixedOffset === undefined || parts.years > 0 || parts.months > 0) return undefined
  return remainderGrid(fixedMs(parts), originIn({ zone, origin }), range)
}

/** Counted from the beginning of 1970 in the zone where the query has no origin. */
const originIn = ({ zone, origin }: Pick<Terms, 'zone' | 'origin'>): EpochMs => origin ?? instantOf(zone, 0)

/** Days and months as the calendar of the zone has them. */
function localGrid(
  length: Pick<Calendar, 'unit' | 'count'>,
  { zone, origin, range }: Terms,
  usualOrigin: LocalMs = 0,
): Grid | undefined {
  const local = origin === undefined ? usualOrigin : origin + offsetAt(zone, origin)
  const grid = calendarGrid({ ...length, zone: zone.name, origin: local })
  if (grid?.calendar === undefined) return undefined
  if (zone.fixedOffset !== undefined) {
    return length.unit === 'day' ? gridThrough('cell', grid.step, local - zone.fixedOffset) : grid
  }
  const isKnown = isWithin(range, calendarRange) && (origin ?? 0) >= calendarRange.from
  return isKnown && isRegular(grid.calendar, range.from, range.to) ? grid : undefined
}

/** From a Monday. Druid goes from the beginning of the day to that of the week, and keeps a clock that does not show midnight. */
function weekGrid(terms: Terms): Grid | undefined {
  const days = localGrid({ unit: 'day', count: 1 }, terms)
  return days && localGrid({ unit: 'day', count: 7 }, terms, firstMonday)
}

/** Pieces of a local hour, minute or second. */
function flooredGrid(step: number, { zone, range }: Terms): Grid | undefined {
  if (zone.fixedOffset === undefined && !isWithin(range, calendarRange)) return undefined
  const phase = phaseOf(zone, step, range)
  return phase === undefined ? undefined : gridThrough('cell', step, phase)
}

function clockGrid(unitMs: number, count: number, terms: Terms): Grid | undefined {
  if (count === 1 && terms.origin === undefined) return flooredGrid(unitMs, terms)
  return gridThrough('cell', count * unitMs, originIn(terms))
}

/**
 * Hours have rules of their own. Before an origin that is not after 1970 Druid rounds up, and after one that is before
 * 1970 it rounds once more, to the local hour.
 */
function hoursGrid(count: number, terms: Terms): Grid | undefined {
  const { zone, range } = terms
  const origin = originIn(terms)
  const grid = gridThrough('cell', count * hourMs, origin)
  if (origin > 0) return grid
  if (range.from < origin) return undefined
  if (origin === 0) return grid
  const isOnHours = flooredGrid(hourMs, { zone, origin, range: { ...range, from: range.from - grid.step } })
  return isOnHours?.origin === grid.origin % hourMs ? grid : undefined
}
