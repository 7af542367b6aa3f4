/** Instants written as text in SQL, as Druid reads them. Whatever it might refuse, or read otherwise, is not read. */
import type { EpochMs } from '../../core/clock.ts'
import { dayOf, offsetMs, timeIn } from '../../core/iso.ts'
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
  const local = localOf((type === 'DATE' ? dateOnly : dateTime).exec(text))
  return local === undefined ? undefined : instantAt(zone, local)
}

/** Text that is compared with a time, cast to one or parsed: ISO 8601 or SQL, with or without an offset. */
export function readText(zone: Zone, text: string): EpochMs | undefined {
  const match = isoTime.exec(text)
  const local = localOf(match)
  if (match === null || local === undefined) return undefined
  const [z, sign, hours, minutes] = match.slice(8)
  if (z !== undefined) return local
  if (sign === undefined) return instantAt(zone, local)
  const offset = offsetMs(sign, hours, minutes)
  return offset === undefined ? undefined : local - offset
}

/** Druid drops digits of a fraction below the millisecond; it refuses more than nine digits. */
function localOf(match: RegExpExecArray | null): LocalMs | undefined {
  if (match === null) return undefined
  const day = dayOf(Number(match[1]), Number(match[2]), Number(match[3]))
  const time = timeIn(match, 4)
  return day === undefined || time === undefined ? undefined : day + time
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
