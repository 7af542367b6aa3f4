/** Instants written as text in SQL, as Druid reads them. Whatever it might refuse, or read otherwise, is not read. */
import type { EpochMs } from '../../core/clock.ts'
import type { LocalMs, Zone } from '../../core/zone.ts'
import type { Span } from './druid-plan.ts'
import { instantAt, localAt, parsePeriod, shift, times } from './zoned.ts'

const date = '([1-9]\\d{3})-(\\d\\d)-(\\d\\d)'
const dateOnly = new RegExp(`^${date}$`)
const dateTime = new RegExp(`^${date}(?: (\\d\\d):(\\d\\d):(\\d\\d)(?:\\.(\\d{1,9}))?)?$`)
const isoTime = new RegExp(
  `^${date}(?:[T ](\\d\\d):(\\d\\d)(?::(\\d\\d)(?:\\.(\\d{1,9}))?)?(?:(Z)|([+-])(\\d\\d)(?::?(\\d\\d))?)?)?$`,
)

/** TIMESTAMP '…' and DATE '…' are local times of the session. */
export function readLiteral(zone: Zone, type: string, text: string): EpochMs | undefined {
  const match = (type === 'DATE' ? dateOnly : dateTime).exec(text)
  const local = match === null ? undefined : localOf(match)
  return local === undefined ? undefined : instantAt(zone, local)
}

/** Text that is compared with a time, cast to one or parsed: ISO 8601 or SQL, with or without an offset. */
export function readText(zone: Zone, text: string): EpochMs | undefined {
  const match = isoTime.exec(text)
  const local = match === null ? undefined : localOf(match)
  if (match === null || local === undefined) return undefined
  const [z, sign, hours, minutes] = match.slice(8)
  if (z !== undefined) return local
  if (sign === undefined) return instantAt(zone, local)
  if (Number(hours) > 23 || Number(minutes ?? 0) > 59) return undefined
  const offset = (Number(hours) * 60 + Number(minutes ?? 0)) * 60_000
  return sign === '-' ? local + offset : local - offset
}

/** Druid drops digits of a fraction below the millisecond; it refuses more than nine digits. */
function localOf(match: RegExpExecArray): LocalMs | undefined {
  const part = (group: number): number => Number(match[group] ?? 0)
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)]
  const midnight = Date.UTC(year, month - 1, day)
  const isDate = month >= 1 && month <= 12 && day >= 1 && new Date(midnight).getUTCDate() === day
  if (!isDate || hour > 23 || minute > 59 || second > 59) return undefined
  return (
    midnight +
    ((hour * 60 + minute) * 60 + second) * 1000 +
    Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'))
  )
}

/** `start/end`, `start/period` or `period/end`, local times where no offset is written. Undefined if it ends too early. */
export function readInterval(zone: Zone, text: string): Span | undefined {
  const [left, right, ...more] = text.split('/')
  if (left === undefined || right === undefined || more.length > 0 || text.includes(' ')) return undefined
  const [before, behind] = [parsePeriod(left), parsePeriod(right)]
  const start = before === undefined ? readText(zone, left) : undefined
  const end = behind === undefined ? readText(zone, right) : undefined
  const from = before !== undefined && end !== undefined ? shift(zone, end, times(before, -1)) : start
  const to = behind !== undefined && start !== undefined ? shift(zone, start, behind) : end
  if (from === undefined || to === undefined || to < from) return undefined
  // They become local times, and so it is lost which of two equal ones they are.
  const isExact = [from, to].every((at) => instantAt(zone, localAt(zone, at)) === at)
  return isExact ? { from, to } : undefined
}
