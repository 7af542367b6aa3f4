/**
 * Instants, periods and intervals as Joda-Time reads them in UTC, which is how Druid reads them. Only years 0 to 9999
 * and no signs: whatever else Joda would accept is left to Druid.
 */
import type { EpochMs } from '../../core/clock.ts'
import type { Span } from './druid-plan.ts'

const dayMs = 86_400_000
const earliest = -62_167_219_200_000
const latest = 253_402_300_799_999

const instant =
  /^(\d{4})(?:-(?:(\d{1,2})(?:-(\d{1,2}))?|(\d{3})|W(\d{1,2})(?:-(\d))?))?(?:T(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,9}))?)?)?(?:Z|([+-])(\d\d):?(\d\d)|([+-])(\d\d))?)?$/i
const period =
  /^P(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:\.(\d{1,9}))?S)?)?$/i

/**
 * `start/end`, `start/period` or `period/end`. Undefined for texts that Joda refuses, and for texts that we do not
 * read.
 */
export function parseInterval(text: string): Span | undefined {
  const slash = text.indexOf('/')
  if (slash < 0) return undefined
  const [left, right] = [text.slice(0, slash), text.slice(slash + 1)]
  const before = parsePeriod(left)
  const behind = parsePeriod(right)
  const from = before === undefined ? parseInstant(left) : undefined
  const to = behind === undefined ? parseInstant(right) : undefined
  if (from !== undefined && to !== undefined) return { from, to }
  if (from !== undefined && behind !== undefined) return checked({ from, to: shift(from, behind, 1) })
  if (to !== undefined && before !== undefined) return checked({ from: shift(to, before, -1), to })
  return undefined
}

const checked = (span: Span): Span | undefined =>
  isInRange(span.from) && isInRange(span.to) ? span : undefined
const isInRange = (at: EpochMs): boolean => at >= earliest && at <= latest

/** A date, complete or not, by month, week or day of the year, with or without a time and an offset. */
export function parseInstant(text: string): EpochMs | undefined {
  const match = instant.exec(text)
  if (match === null) return undefined
  const day = dayOf(match)
  const time = timeOf(match)
  const offset = offsetOf(match)
  if (day === undefined || time === undefined || offset === undefined) return undefined
  const at = day + time - offset
  return isInRange(at) ? at : undefined
}

type Match = RegExpExecArray

const numberIn = (match: Match, group: number, otherwise: number): number =>
  match[group] === undefined ? otherwise : Number(match[group])

function dayOf(match: Match): EpochMs | undefined {
  const year = Number(match[1])
  if (match[4] !== undefined) return ordinalDay(year, Number(match[4]))
  if (match[5] !== undefined) return weekDay(year, Number(match[5]), numberIn(match, 6, 1))
  const [month, day] = [numberIn(match, 2, 1), numberIn(match, 3, 1)]
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
  return isDate ? dateMs(year, month, day) : undefined
}

function ordinalDay(year: number, day: number): EpochMs | undefined {
  const at = dateMs(year, 1, 1) + (day - 1) * dayMs
  return day >= 1 && at < dateMs(year + 1, 1, 1) ? at : undefined
}

function weekDay(year: number, week: number, day: number): EpochMs | undefined {
  const monday = firstMonday(year) + (week - 1) * 7 * dayMs
  const isDate = week >= 1 && monday < firstMonday(year + 1) && day >= 1 && day <= 7
  return isDate ? monday + (day - 1) * dayMs : undefined
}

/** Of the week that has the fourth of January in it. */
function firstMonday(year: number): EpochMs {
  const fourth = dateMs(year, 1, 4)
  return fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * dayMs
}

/** Date.UTC takes the years 0 to 99 for 1900 to 1999; the months may lie outside the year. */
function dateMs(year: number, month: number, day: number): EpochMs {
  return new Date(0).setUTCFullYear(year, month - 1, day)
}

const daysIn = (year: number, month: number): number => new Date(dateMs(year, month + 1, 0)).getUTCDate()

function timeOf(match: Match): number | undefined {
  const [hour, minute, second] = [7, 8, 9].map((group) => numberIn(match, group, 0)) as [
    number,
    number,
    number,
  ]
  if (hour > 23 || minute > 59 || second > 59) return undefined
  return ((hour * 60 + minute) * 60 + second) * 1000 + msOf(match[10])
}

/** Whole milliseconds of a fraction; the rest is dropped. */
const msOf = (fraction = ''): number => Number(fraction.slice(0, 3).padEnd(3, '0'))

function offsetOf(match: Match): number | undefined {
  const sign = match[11] ?? match[14]
  if (sign === undefined) return 0
  const [hours, minutes] = [Number(match[12] ?? match[15]), numberIn(match, 13, 0)]
  if (hours > 23 || minutes > 59) return undefined
  return (sign === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000
}

/** Years, months, and the rest, which is always equally long, in ms. */
interface Period {
  readonly years: number
  readonly months: number
  readonly ms: number
}

function parsePeriod(text: string): Period | undefined {
  const match = period.exec(text)
  if (match === null) return undefined
  const [years, months, weeks, days, hours, minutes, seconds] = [1, 2, 3, 4, 5, 6, 7].map((group) =>
    numberIn(match, group, 0),
  ) as [number, number, number, number, number, number, number]
  const ms = (((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000 + msOf(match[8])
  return { years, months, ms }
}

/** Years first, then months, each ending in the last day of its month where the day does not exist; then the rest. */
function shift(at: EpochMs, { years, months, ms }: Period, sign: 1 | -1): EpochMs {
  return addMonths(addMonths(at, sign * years * 12), sign * months) + sign * ms
}

function addMonths(at: EpochMs, months: number): EpochMs {
  if (months === 0) return at
  const date = new Date(at)
  const firstOfMonth = dateMs(date.getUTCFullYear(), date.getUTCMonth() + 1 + months, 1)
  const first = new Date(firstOfMonth)
  const lastDay = daysIn(first.getUTCFullYear(), first.getUTCMonth() + 1)
  const day = Math.min(date.getUTCDate(), lastDay)
  const time = ((at % dayMs) + dayMs) % dayMs
  return firstOfMonth + (day - 1) * dayMs + time
}
