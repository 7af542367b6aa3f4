/** The parts of ISO 8601 texts: dates, times of day, offsets and periods. All are in UTC. */
import type { EpochMs } from './clock.ts'

export const dayMs = 86_400_000

/** The groups of a pattern that found a text. */
type Match = RegExpExecArray

/** Date.UTC takes the years 0 to 99 for 1900 to 1999; the months may lie outside the year. */
export const dateMs = (year: number, month: number, day: number): EpochMs =>
  new Date(0).setUTCFullYear(year, month - 1, day)

const daysIn = (year: number, month: number): number => new Date(dateMs(year, month + 1, 0)).getUTCDate()

/** The beginning of a day; undefined for a day that the calendar does not have. */
export function dayOf(year: number, month: number, day: number): EpochMs | undefined {
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
  return isDate ? dateMs(year, month, day) : undefined
}

/** The last day of the month where the day does not exist. */
export function addMonths(at: EpochMs, months: number): EpochMs {
  if (months === 0) return at
  const date = new Date(at)
  const firstOfMonth = dateMs(date.getUTCFullYear(), date.getUTCMonth() + 1 + months, 1)
  const first = new Date(firstOfMonth)
  const lastDay = daysIn(first.getUTCFullYear(), first.getUTCMonth() + 1)
  const day = Math.min(date.getUTCDate(), lastDay)
  const time = ((at % dayMs) + dayMs) % dayMs
  return firstOfMonth + (day - 1) * dayMs + time
}

/** Hour, minute, second and its fraction, from `group` on; undefined for a time that no clock shows. */
export function timeIn(match: Match, group: number): number | undefined {
  const part = (i: number): number => Number(match[group + i] ?? 0)
  const [hour, minute, second] = [part(0), part(1), part(2)]
  if (hour > 23 || minute > 59 || second > 59) return undefined
  return ((hour * 60 + minute) * 60 + second) * 1000 + fractionMs(match[group + 3])
}

/** Whole milliseconds of a fraction; the rest is dropped. */
const fractionMs = (digits = ''): number => Number(digits.slice(0, 3).padEnd(3, '0'))

/** How far local time is ahead of UTC; undefined for more than a day. */
export function offsetMs(sign: string, hours: string | undefined, minutes = '0'): number | undefined {
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

export interface Period {
  readonly years: number
  readonly months: number
  readonly weeks: number
  readonly days: number
  readonly hours: number
  readonly minutes: number
  readonly seconds: number
  readonly millis: number
}

/** The groups are years, months, weeks, days, hours, minutes, seconds and the fraction of a second. */
export function periodIn(match: Match): Period {
  const part = (group: number): number => Number(match[group] ?? 0)
  return {
    ...{ years: part(1), months: part(2), weeks: part(3), days: part(4) },
    ...{ hours: part(5), minutes: part(6), seconds: part(7), millis: fractionMs(match[8]) },
  }
}

/** Hours and everything smaller. */
export const clockMs = ({ hours, minutes, seconds, millis }: Period): number =>
  ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis

/** Weeks and everything smaller: in UTC, they are always equally long. */
export const fixedMs = (period: Period): number => (7 * period.weeks + period.days) * dayMs + clockMs(period)
