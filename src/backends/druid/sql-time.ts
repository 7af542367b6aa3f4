/**
 * The instants of time expressions in a SQL text, where they are the same for every row: literals, parameters, the
 * clock, and computations on them. Each was compared with a real Druid; an expression that Druid may read in another
 * way is refused.
 */
import type { EpochMs } from '../../core/clock.ts'
import { dayMs } from '../../core/iso.ts'
import type { LocalMs, Zone } from '../../core/zone.ts'
import type { Binary, Call, Expression } from './sql-expression.ts'
import { readLiteral, readText } from './sql-literal.ts'
import { argumentsOf, keyedBy, type Reading, textIn, wholeIn, wholeNumber, zoneIn } from './sql-reading.ts'
import { round, roundingOf } from './sql-rounding.ts'
import { dayAt, exactZone, instantAt, type LocalPeriod, localAt, parsePeriod, shift, times } from './zoned.ts'

/** A value that may depend on the clock; at some moments there may be none. */
export interface Moving<T> {
  readonly isRelative: boolean
  at(now: EpochMs): T | undefined
}

export type Time = Moving<EpochMs>

/** The value that a row's time is compared with. Undefined where it is not certainly an instant. */
export const readBound = (reading: Reading, expression: Expression): Time | undefined =>
  inZone(reading.zone.rules, readTime(reading, expression), unfolded)

function readTime(reading: Reading, expression: Expression): Time | undefined {
  switch (expression.kind) {
    case 'string':
      return constant(readText(reading.zone.rules, expression.value))
    case 'parameter':
      return constant(readParameter(reading, expression))
    default:
      return readTyped(reading, expression)
  }
}

/** An expression whose type is a time; text is cast to one only where it is compared, or by CAST. */
function readTyped(reading: Reading, expression: Expression | undefined): Time | undefined {
  switch (expression?.kind) {
    case 'typed':
      return constant(readLiteral(reading.zone.rules, expression.type, expression.value))
    case 'clock':
      return readClock(reading.zone.rules, expression.word)
    case 'binary':
      return readArithmetic(reading, expression)
    case 'call':
      return readCall(reading, expression)
    default:
      return undefined
  }
}

export const constant = <T>(value: T | undefined): Moving<T> | undefined =>
  value === undefined ? undefined : { isRelative: false, at: () => value }

/** The result of `step` for another time. */
function then(inner: Time | undefined, step: (at: EpochMs) => EpochMs | undefined): Time | undefined {
  if (inner === undefined) return undefined
  const at = (now: EpochMs): EpochMs | undefined => {
    const instant = inner.at(now)
    return instant === undefined ? undefined : step(instant)
  }
  return inner.isRelative ? { isRelative: true, at } : constant(at(0))
}

/** In a zone. The memoised times of a query must not keep all its tokens alive. */
const inZone = (
  zone: Zone,
  inner: Time | undefined,
  move: (zone: Zone, at: EpochMs) => EpochMs | undefined,
): Time | undefined => then(inner, (at) => move(zone, at))

const shifted = (zone: Zone, inner: Time | undefined, by: LocalPeriod): Time | undefined =>
  then(inner, (at) => shift(zone, at, by))

/** A parameter of type TIMESTAMP is a local time of the session, whatever offset is written in it. */
function readParameter({ zone, parameters }: Reading, { first }: Expression): EpochMs | undefined {
  const { type, value, isText = false } = parameters.get(first) ?? {}
  if (value === undefined) return undefined
  if (type === 'VARCHAR' && isText) return readText(zone.rules, value)
  if (type !== 'TIMESTAMP') return undefined
  const local = isText ? readTimestamp(value) : wholeNumber(value)
  return local === undefined ? undefined : instantAt(zone.rules, local)
}

const utc = exactZone('UTC')!

/** With a space between date and time, Druid wants neither a fraction nor an offset. */
const readTimestamp = (text: string): LocalMs | undefined =>
  text.includes(' ') && !/^.{10} .{8}$/.test(text) ? undefined : readText(utc, text)

function readClock(zone: Zone, word: string): Time | undefined {
  if (word === 'CURRENT_DATE') return { isRelative: true, at: (now) => dayAt(zone, now) }
  if (word !== 'CURRENT_TIMESTAMP' && word !== 'LOCALTIMESTAMP') return undefined
  return { isRelative: true, at: (now) => unfolded(zone, now) }
}

/** Druid turns a computed value into a local time, which does not distinguish two equal ones. */
const unfolded = (zone: Zone, at: EpochMs): EpochMs | undefined =>
  instantAt(zone, localAt(zone, at)) === at ? at : undefined

const fixed = (ms: number): LocalPeriod => ({ months: 0, days: 0, ms })
const months = (count: number): LocalPeriod => ({ months: count, days: 0, ms: 0 })

/** Weeks and quarters are left out: Druid 33 takes INTERVAL '1' WEEK for an hour and '1' QUARTER for a month. */
const intervalUnits: ReadonlyMap<string, LocalPeriod> = new Map([
  ['SECOND', fixed(1000)],
  ['MINUTE', fixed(60_000)],
  ['HOUR', fixed(3_600_000)],
  // 24 hours, also when the clocks change.
  ['DAY', fixed(dayMs)],
  ['MONTH', months(1)],
  ['YEAR', months(12)],
])
const addedUnits: ReadonlyMap<string, LocalPeriod> = new Map([
  ...intervalUnits,
  ['WEEK', fixed(7 * dayMs)],
  ['QUARTER', months(3)],
])

function readArithmetic(reading: Reading, { operator, left, right }: Binary): Time | undefined {
  const isSwapped = left.kind === 'interval' && operator === '+'
  const interval = intervalOf(isSwapped ? left : right)
  if (interval === undefined || (operator !== '+' && operator !== '-')) return undefined
  const moved = times(interval, operator === '-' ? -1 : 1)
  return shifted(reading.zone.rules, readTyped(reading, isSwapped ? right : left), moved)
}

function intervalOf(expression: Expression): LocalPeriod | undefined {
  if (expression.kind !== 'interval' || !/^\d{1,6}$/.test(expression.value)) return undefined
  const unit = intervalUnits.get(expression.unit)
  return unit === undefined ? undefined : times(unit, Number(expression.value))
}

type ReadCall = (reading: Reading, call: Call) => Time | undefined

const functions: ReadonlyMap<string, ReadCall> = new Map([
  ['CAST', readCast],
  ['MILLIS_TO_TIMESTAMP', readMillis],
  ['TIME_PARSE', readParse],
  ['TIME_SHIFT', readShift],
  ['TIMESTAMPADD', readAdd],
])

const readCall: ReadCall = (reading, call) => (functions.get(call.name) ?? readRounding)(reading, call)

function readCast(reading: Reading, call: Call): Time | undefined {
  const cast = keyedBy('AS', reading, call)
  if (cast === undefined || (cast.word !== 'TIMESTAMP' && cast.word !== 'DATE')) return undefined
  const time = readTime(reading, cast.operand)
  return cast.word === 'DATE' ? inZone(reading.zone.rules, time, dayAt) : time
}

function readMillis(reading: Reading, call: Call): Time | undefined {
  const [ms] = argumentsOf(reading, call, 1)
  return constant(wholeIn(reading, ms))
}

/** Patterns are not read. */
function readParse(reading: Reading, call: Call): Time | undefined {
  const [text, pattern, zoneName] = argumentsOf(reading, call, 3)
  const value = textIn(reading, text)
  const zone = zoneIn(reading, zoneName)
  if (value === undefined || zone === undefined) return undefined
  return pattern === undefined || pattern.kind === 'null' ? constant(readText(zone.rules, value)) : undefined
}

function readShift(reading: Reading, call: Call): Time | undefined {
  const [operand, period, count, zoneName] = argumentsOf(reading, call, 4)
  const parsed = period?.kind === 'string' ? parsePeriod(period.value) : undefined
  const factor = smallNumber(count)
  const zone = zoneIn(reading, zoneName)
  if (parsed === undefined || factor === undefined || zone === undefined) return undefined
  return shifted(zone.rules, readTyped(reading, operand), times(parsed, factor))
}

const smallNumber = (expression: Expression | undefined): number | undefined =>
  expression?.kind === 'number' && /^-?\d{1,9}$/.test(expression.text) ? Number(expression.text) : undefined

function readAdd(reading: Reading, call: Call): Time | undefined {
  const [unit, count, operand] = argumentsOf(reading, call, 3)
  const name = unit?.kind === 'column' ? unit.path.join('.').toUpperCase() : ''
  const period = addedUnits.get(name.replace(/^SQL_TSI_/, ''))
  const factor = smallNumber(count)
  if (period === undefined || factor === undefined) return undefined
  return shifted(reading.zone.rules, readTyped(reading, operand), times(period, factor))
}

function readRounding(reading: Reading, call: Call): Time | undefined {
  const rounding = roundingOf(reading, call)
  if (rounding === undefined) return undefined
  return then(readTyped(reading, rounding.operand), (at) => round(rounding, at))
}
