/**
 * Calendars: buckets of days or months as clocks and calendars of a zone count them. A day may have 23 or 25 hours, and a
 * day that a zone left out is a bucket without length.
 */
import type { EpochMs } from './clock.ts'
import { dayMs } from './iso.ts'
import { instantOf, type LocalMs, offsetAt, transitionsIn, type Zone, zoneOf } from './zone.ts'

/**
 * Bucket n begins `n · count` units after `origin`, in local time. Weeks are 7 days from a Monday, quarters 3 months,
 * years 12. `origin` is the first such beginning at or after the beginning of 1970, which makes it the phase of the grid.
 */
export interface Calendar {
  readonly unit: 'day' | 'month'
  readonly count: number
  readonly zone: string
  readonly origin: LocalMs
}

/** The mean of 400 years, after which months repeat: a whole number of milliseconds. */
const monthMs = (146_097 / 4800) * dayMs
/** Every month has that many days: later ones would not begin every month. */
const commonDays = 28
const maxCount = 1_000_000

/** The mean length of a bucket. */
export const nominalMs = ({ unit, count }: Pick<Calendar, 'unit' | 'count'>): number =>
  count * (unit === 'day' ? dayMs : monthMs)

/** The calendar with a bucket that begins at `origin`, any such; undefined where there is no such calendar. */
export function calendarThrough({ unit, count, zone, origin }: Calendar): Calendar | undefined {
  const known = zoneOf(zone)
  const isCounted = Number.isInteger(count) && count > 0 && count <= maxCount
  if (known === undefined || !isCounted || !Number.isSafeInteger(origin)) return undefined
  if (unit === 'day') return { unit, count, zone: known.name, origin: modulo(origin, count * dayMs) }
  const month = monthOf(origin)
  const inMonth = origin - beginOfMonth(month)
  if (inMonth >= commonDays * dayMs) return undefined
  return { unit, count, zone: known.name, origin: beginOfMonth(modulo(month, count)) + inMonth }
}

export const isSameCalendar = (a: Calendar | undefined, b: Calendar | undefined): boolean =>
  a === b || (a?.unit === b?.unit && a?.count === b?.count && a?.zone === b?.zone && a?.origin === b?.origin)

/** A calendar as a record has it; undefined for anything else. */
export function readCalendar(value: unknown): Calendar | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { unit, count, zone, origin } = value as Partial<Record<keyof Calendar, unknown>>
  if ((unit !== 'day' && unit !== 'month') || typeof zone !== 'string') return undefined
  if (typeof count !== 'number' || typeof origin !== 'number') return undefined
  const calendar = calendarThrough({ unit, count, zone, origin })
  return calendar?.origin === origin && calendar.zone === zone ? calendar : undefined
}

export function calendarStart(calendar: Calendar, bucket: number): EpochMs {
  return Number.isFinite(bucket) ? instantOf(zoneIn(calendar), localStart(calendar, bucket)) : bucket
}

/** The number of the last bucket that begins at or before `instant`. */
export function calendarBucket(calendar: Calendar, instant: EpochMs): number {
  if (!Number.isFinite(instant)) return instant
  let bucket = bucketOfLocal(calendar, instant + offsetAt(zoneIn(calendar), instant))
  // Where a change of the clocks skips or repeats a beginning, local time alone does not show on which side of it an
  // instant lies.
  while (calendarStart(calendar, bucket) > instant) bucket--
  while (calendarStart(calendar, bucket + 1) <= instant) bucket++
  return bucket
}

/**
 * Whether every bucket of those in [from, to] begins at a local time that there is exactly once. Others begin at an
 * instant about which programs disagree.
 */
export function isRegular(calendar: Calendar, from: EpochMs, to: EpochMs): boolean {
  const first = calendarStart(calendar, calendarBucket(calendar, from))
  const last = calendarStart(calendar, calendarBucket(calendar, to) + 1)
  // A bucket may begin in the very hours around a transition.
  for (const { at, before, after } of transitionsIn(zoneIn(calendar), first - dayMs, last + dayMs)) {
    const bucket = bucketOfLocal(calendar, at + Math.max(before, after) - 1)
    if (localStart(calendar, bucket) >= at + Math.min(before, after)) return false
  }
  return true
}

/** A record names only known zones; a calendar with an unknown one is a defect of this program. */
function zoneIn(calendar: Calendar): Zone {
  const zone = zoneOf(calendar.zone)
  if (zone === undefined) throw new Error(`a calendar in the unknown zone ${calendar.zone}`)
  return zone
}

function localStart({ unit, count, origin }: Calendar, bucket: number): LocalMs {
  if (unit === 'day') return origin + bucket * count * dayMs
  const month = monthOf(origin)
  return beginOfMonth(month + bucket * count) + origin - beginOfMonth(month)
}

function bucketOfLocal({ unit, count, origin }: Calendar, local: LocalMs): number {
  if (unit === 'day') return Math.floor((local - origin) / (count * dayMs))
  const month = monthOf(origin)
  return Math.floor((monthOf(local - (origin - beginOfMonth(month))) - month) / count)
}

/** Months are counted from January 1970; years of this count begin in March, so that a leap day is the last of one. */
const monthsToMarch = 2
const yearsOfCycle = 400
const daysOfCycle = 146_097
/** From 1 March of the year 0 to the beginning of 1970. */
const daysBefore1970 = 719_468

function beginOfMonth(month: number): LocalMs {
  const months = month + 1970 * 12 - monthsToMarch
  const year = Math.floor(months / 12)
  const cycle = Math.floor(year / yearsOfCycle)
  const inCycle = year - cycle * yearsOfCycle
  const leapDays = Math.floor(inCycle / 4) - Math.floor(inCycle / 100)
  const days = inCycle * 365 + leapDays + Math.floor((153 * (months - year * 12) + 2) / 5)
  return (cycle * daysOfCycle + days - daysBefore1970) * dayMs
}

function monthOf(local: LocalMs): number {
  const guess = Math.floor(local / monthMs)
  if (beginOfMonth(guess) > local) return guess - 1
  return beginOfMonth(guess + 1) <= local ? guess + 1 : guess
}

const modulo = (value: number, by: number): number => ((value % by) + by) % by

/** `1 month in America/New_York`, and from when it counts where that is not the beginning of 1970. */
export function calendarText(calendar: Calendar): string {
  const { zone, origin } = calendar
  const from = origin === 0 ? '' : `, counted from ${localText(origin)}`
  return `${lengthText(calendar)} in ${zone}${from}`
}

function lengthText({ unit, count }: Calendar): string {
  const [large, many] = unit === 'day' ? ['week', 7] : ['year', 12]
  const isLarge = count % many === 0
  const [name, number] = isLarge ? [large, count / many] : [unit, count]
  return `${number} ${name}${number === 1 ? '' : 's'}`
}

/** `1970-01-05`, or `1970-01-01T06:00` where it is no midnight. */
function localText(local: LocalMs): string {
  const text = new Date(local)
    .toISOString()
    .replace(/(?::00)?\.000Z$/, '')
    .replace(/Z$/, '')
  return local % dayMs === 0 ? text.slice(0, 10) : text
}
