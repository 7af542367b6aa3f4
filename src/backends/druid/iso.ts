/**
 * The ISO 8601 texts of Druid queries, read as Joda-Time reads them; texts that it may read in another way are refused.
 */
import type { EpochMs } from '../../core/clock.ts'

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

const periodPattern =
  /^P(?:(\d{1,6})Y)?(?:(\d{1,6})M)?(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:\.(\d{1,3}))?S)?)?$/

/** `P1DT12H`; undefined where it is longer than nothing in no unit. */
export function readPeriod(text: unknown): Period | undefined {
  const found = typeof text === 'string' ? periodPattern.exec(text) : null
  if (found === null) return undefined
  const [years, months, weeks, days, hours, minutes, seconds] = found
    .slice(1, 8)
    .map((part) => Number(part ?? 0))
  const millis = Number((found[8] ?? '').padEnd(3, '0'))
  const period = { years, months, weeks, days, hours, minutes, seconds, millis } as Period
  return Object.values(period).some((count) => count > 0) ? period : undefined
}

const instantPattern =
  /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d\d):(\d\d))?)?$/

/** An instant as text, in UTC where it names no offset, or as a number; undefined where none is given. */
export function readOrigin(value: unknown): EpochMs | undefined | 'unreadable' {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : 'unreadable'
  const found = typeof value === 'string' ? instantPattern.exec(value) : null
  if (found === null) return 'unreadable'
  const [, date, time = '00:00', seconds = '00', fraction = '', sign, hours, minutes] = found
  const local = `${date}T${time}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
  const ms = Date.parse(local)
  // There is no 30 February, and no hour 24: Date makes others of them.
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== local) return 'unreadable'
  const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000
  return sign === '-' ? ms + offset : ms - offset
}
