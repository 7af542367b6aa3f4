/**
 * Instants, periods and intervals as Joda-Time reads them in UTC, which is how Druid reads them. Only years 0 to 9999
 * and no signs: whatever else Joda would accept is left to Druid.
 */
import type { EpochMs } from '../../core/clock.ts'
import {
  addMonths,
  dateMs,
  dayMs,
  dayOf,
  fixedMs,
  offsetMs,
  type Period,
  periodIn,
  timeIn,
} from '../../core/iso.ts'
import type { Span } from './druid-plan.ts'

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
  const start = before === undefined ? parseInstant(left) : undefined
  const end = behind === undefined ? parseInstant(right) : undefined
  const from = before !== undefined && end !== undefined ? shift(end, before, -1) : start
  const to = behind !== undefined && start !== undefined ? shift(start, behind, 1) : end
  return isInRange(from) && isInRange(to) ? { from, to } : undefined
}

const isInRange = (at: EpochMs | undefined): at is EpochMs =>
  at !== undefined && at >= earliest && at <= latest

/** A date, complete or not, by month, week or day of the year, with or without a time and an offset. */
export function parseInstant(text: string): EpochMs | undefined {
  const match = instant.exec(text)
  if (match === null) return undefined
  const day = dateOf(match)
  const time = timeIn(match, 7)
  const sign = match[11] ?? match[14]
  const offset = sign === undefined ? 0 : offsetMs(sign, match[12] ?? match[15], match[13])
  if (day === undefined || time === undefined || offset === undefined) return undefined
  const at = day + time - offset
  return isInRange(at) ? at : undefined
}

function dateOf(match: RegExpExecArray): EpochMs | undefined {
  const part = (group: number): number => Number(match[group] ?? 1)
  const year = part(1)
  if (match[4] !== undefined) return ordinalDay(year, part(4))
  if (match[5] !== undefined) return weekDay(year, part(5), part(6))
  return dayOf(year, part(2), part(3))
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

function parsePeriod(text: string): Period | undefined {
  const match = period.exec(text)
  return match === null ? undefined : periodIn(match)
}

/** Years first, then months, each ending in the last day of its month where the day does not exist; then the rest. */
function shift(at: EpochMs, by: Period, sign: 1 | -1): EpochMs {
  return addMonths(addMonths(at, sign * by.years * 12), sign * by.months) + sign * fixedMs(by)
}
