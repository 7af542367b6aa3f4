/**
 * Reads the time of a row from its bytes: the format of Joda-Time (`2026-01-01T08:00:00.000Z`, also with an offset and
 * without the fraction), or epoch milliseconds; both with or without the quotes of JSON.
 */
import type { EpochMs } from '../../core/clock.ts'
import { dayMs } from '../../core/iso.ts'

const quote = 0x22
const minus = 0x2d
const colon = 0x3a

/** The instant in bytes[start .. end); NaN for anything else. */
export function readInstant(bytes: Uint8Array, start: number, end: number): EpochMs {
  const isQuoted = end - start >= 2 && bytes[start] === quote && bytes[end - 1] === quote
  const [from, to] = isQuoted ? [start + 1, end - 1] : [start, end]
  return to - from > mostDigits + 1 ? readDateTime(bytes, from, to) : readWhole(bytes, from, to)
}

/** A double holds this many digits exactly, and more are no realistic instant. A date with its time is longer. */
const mostDigits = 15

/** The whole number in bytes[start .. end); NaN for anything else, and for one of more digits. */
export function readWhole(bytes: Uint8Array, start: number, end: number): number {
  const isNegative = bytes[start] === minus
  const from = isNegative ? start + 1 : start
  if (end - from > mostDigits) return Number.NaN
  const value = digits(bytes, from, end - from)
  return isNegative ? -value : value
}

/** The lengths of `2026-01-01T08:00:00` and `2026-01-01T08:00:00.000`. */
const secondsEnd = 19
const fractionEnd = 23

function readDateTime(bytes: Uint8Array, start: number, end: number): EpochMs {
  if (bytes[start + 4] !== minus || bytes[start + 7] !== minus || bytes[start + 10] !== 0x54 /* T */)
    return Number.NaN
  if (bytes[start + 13] !== colon || bytes[start + 16] !== colon) return Number.NaN
  const day = dayOf(digits(bytes, start, 4), digits(bytes, start + 5, 2), digits(bytes, start + 8, 2))
  const hour = digits(bytes, start + 11, 2)
  const minute = digits(bytes, start + 14, 2)
  const second = digits(bytes, start + 17, 2)
  if (!(hour < 24 && minute < 60 && second < 60)) return Number.NaN
  const hasFraction = bytes[start + secondsEnd] === 0x2e /* . */
  const fraction = hasFraction ? digits(bytes, start + secondsEnd + 1, 3) : 0
  const offset = readOffset(bytes, start + (hasFraction ? fractionEnd : secondsEnd), end)
  return day + hour * 3_600_000 + minute * 60_000 + second * 1000 + fraction - offset
}

/** `Z`, `+05:30`, or with seconds as before the age of railways; in milliseconds. */
function readOffset(bytes: Uint8Array, start: number, end: number): number {
  const sign = bytes[start]
  if (sign === 0x5a /* Z */) return end === start + 1 ? 0 : Number.NaN
  const hasSeconds = end - start === 9 && bytes[start + 6] === colon
  if (!hasSeconds && end - start !== 6) return Number.NaN
  if ((sign !== 0x2b && sign !== minus) || bytes[start + 3] !== colon) return Number.NaN
  const seconds = hasSeconds ? digits(bytes, start + 7, 2) : 0
  const offset =
    digits(bytes, start + 1, 2) * 3_600_000 + digits(bytes, start + 4, 2) * 60_000 + seconds * 1000
  return sign === minus ? -offset : offset
}

/** `count` digits as a number; NaN where there are none, or something else among them. */
function digits(bytes: Uint8Array, start: number, count: number): number {
  if (count <= 0) return Number.NaN
  let value = 0
  for (let at = start; at < start + count; at++) {
    const digit = bytes[at]! - 48
    if (!(digit >= 0 && digit <= 9)) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

/** When a day of the Gregorian calendar begins; NaN for a day that it does not have. */
function dayOf(year: number, month: number, day: number): EpochMs {
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month))) return Number.NaN
  // Date.UTC takes the years 0 to 99 for others. 400 years later everything is the same.
  return Date.UTC(year + 400, month - 1, day) - 146_097 * dayMs
}

function daysIn(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}
