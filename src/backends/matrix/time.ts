/**
 * Times and steps as Prometheus reads them (parseTime and parseDuration of its API, model.ParseDuration, and the
 * engine's truncation to milliseconds), with the same doubles. Only common spellings are read; everything else is
 * refused, also where Go would accept it (hexadecimal, infinities, signs): unsure means bypass.
 */

import type { EpochMs } from '../../core/clock.ts'
import { dayMs, dayOf, offsetMs, timeIn } from '../../core/iso.ts'
import type { Bypass } from '../backend.ts'

/** `ms` is the time of evaluation; `ns` is the rest below a millisecond, which only the API's checks see. */
export interface Instant {
  readonly ms: EpochMs
  readonly ns: number
}

export interface TimeRange {
  readonly start: EpochMs
  readonly end: EpochMs
  readonly stepMs: number
}

/** Prometheus counts in 64-bit nanoseconds since 1970, which end in the year 2262. */
const latestSeconds = 9_200_000_000
const longestMs = latestSeconds * 1000

const maxStepsBetween = 11_000

const decimal = /^(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/

/** As Prometheus' own pattern: the units from the biggest to the smallest, each at most once. */
const duration = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/
const unitsMs = [365 * dayMs, 7 * dayMs, dayMs, 3_600_000, 60_000, 1000, 1]

const invalid = (detail: string): Bypass => ({ bypass: 'invalid_parameter', detail })

/** Reads the range of a query and checks it as the API does. The database's error explains a refusal. */
export function readRange(startText: string, endText: string, stepText: string): TimeRange | Bypass {
  const start = parseTime(startText)
  if (start === undefined) return invalid('start is not a time that we read')
  const end = parseTime(endText)
  if (end === undefined) return invalid('end is not a time that we read')
  const stepMs = parseStep(stepText)
  if (stepMs === undefined) return invalid('step is not a whole number of milliseconds that we read')
  return refuseRange(start, end, stepMs) ?? { start: start.ms, end: end.ms, stepMs }
}

function refuseRange(start: Instant, end: Instant, stepMs: number): Bypass | undefined {
  // Whole milliseconds between the two: enough for a division in nanoseconds, because the step is whole too.
  const lengthMs = end.ms - start.ms - (end.ns < start.ns ? 1 : 0)
  if (lengthMs < 0) return invalid('end is before start')
  if (stepMs <= 0) return invalid('step is not positive')
  return refuseLength({ start: 0, end: lengthMs, stepMs })
}

/** Prometheus refuses ranges of more steps. */
export function refuseLength({ start, end, stepMs }: TimeRange): Bypass | undefined {
  return Math.floor((end - start) / stepMs) > maxStepsBetween ? invalid('more than 11 000 steps') : undefined
}

/** Returns undefined for text that Prometheus refuses, or that we would have to guess about. */
export function parseTime(text: string): Instant | undefined {
  return decimal.test(text) ? fromSeconds(Number(text)) : fromRfc3339(text)
}

function fromSeconds(seconds: number): Instant | undefined {
  if (!(seconds <= latestSeconds)) return undefined
  const whole = Math.trunc(seconds)
  const fraction = Math.round((seconds - whole) * 1000) / 1000
  const nanoseconds = Math.trunc(fraction * 1e9)
  return { ms: whole * 1000 + Math.floor(nanoseconds / 1e6), ns: nanoseconds % 1e6 }
}

function fromRfc3339(text: string): Instant | undefined {
  const match = rfc3339.exec(text)
  if (match === null) return undefined
  const [year, month, day] = match.slice(1, 4).map(Number) as [number, number, number]
  const [date, time] = [dayOf(year, month, day), timeIn(match, 4)]
  const offset = match[8] === undefined ? 0 : offsetMs(match[8], match[9], match[10])
  if (date === undefined || time === undefined || offset === undefined) return undefined
  const ms = date + time - offset
  if (ms < 0 || ms > longestMs) return undefined
  return { ms, ns: Number((match[7] ?? '').padEnd(9, '0').slice(3)) }
}

/** Returns the step in whole milliseconds; undefined for a step that is not whole, or not one that we read. */
export function parseStep(text: string): number | undefined {
  return decimal.test(text) ? wholeMsOf(Number(text)) : parseDuration(text)
}

function wholeMsOf(seconds: number): number | undefined {
  if (!(seconds <= latestSeconds)) return undefined
  const nanoseconds = Math.trunc(seconds * 1e9)
  // 1.001 s becomes 1 000 999 999 ns in Go: Prometheus itself then steps by 1000 ms but counts by the former.
  return nanoseconds % 1e6 === 0 ? nanoseconds / 1e6 : undefined
}

/** `1h30m`: whole numbers, each with a unit. */
export function parseDuration(text: string): number | undefined {
  const parts = duration.exec(text)?.slice(1)
  const total = parts?.reduce((sum, part, i) => sum + Number(part ?? 0) * unitsMs[i]!, 0)
  return text !== '' && total !== undefined && total <= longestMs ? total : undefined
}
