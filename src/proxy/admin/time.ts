/** Instants as operators write them: RFC 3339, seconds since 1970, `now`, or `-2h`. */

import type { EpochMs } from '../../core/clock.ts'
import { dayMs, dayOf } from '../../core/iso.ts'

export const timeForms = 'RFC 3339, seconds since 1970, now, or a time before now such as -2h (s, m, h, d, w)'

const unitMs: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: dayMs,
  w: 7 * dayMs,
}
const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/
/** The last instant that has a date. */
const maxMs = 8.64e15

/** Undefined where it is none of these. */
export function readTime(given: unknown, now: EpochMs): EpochMs | undefined {
  const ms =
    typeof given === 'number' ? given * 1000 : typeof given === 'string' ? fromText(given, now) : undefined
  return ms !== undefined && Math.abs(ms) <= maxMs ? ms : undefined
}

/** Milliseconds of a span such as 90s or 2h; undefined where it is none. */
export function readSpan(text: string): number | undefined {
  const [, count, unit] = /^(\d+(?:\.\d+)?)([smhdw])$/.exec(text) ?? []
  return unit === undefined ? undefined : Number(count) * unitMs[unit]!
}

function fromText(text: string, now: EpochMs): EpochMs | undefined {
  if (text === 'now') return now
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000
  const ago = text.startsWith('-') ? readSpan(text.slice(1)) : undefined
  if (ago !== undefined) return now - ago
  const [, year, month, day] = rfc3339.exec(text) ?? []
  // Date.parse takes the 30th of February for the 2nd of March.
  const isDay = dayOf(Number(year), Number(month), Number(day)) !== undefined
  return isDay ? Date.parse(text) : undefined
}
