/** TIME_FLOOR, TIME_CEIL, FLOOR, CEIL and DATE_TRUNC: their granularity, and their argument. */
import type { EpochMs } from '../../core/clock.ts'
import { bucketAt, endOf, startOf } from '../../core/grid.ts'
import { gridOf, simplePeriods } from './granularity.ts'
import type { Call, Expression } from './sql-expression.ts'
import { readLiteral } from './sql-literal.ts'
import { argumentsOf, keyedBy, type Reading, zoneIn } from './sql-reading.ts'
import { wordSet } from './sql-tokens.ts'

export interface Rounding {
  readonly operand: Expression
  readonly granularity: PeriodGranularity
  readonly isUp: boolean
}

/** As native queries write it. */
export interface PeriodGranularity {
  readonly type: 'period'
  readonly period: string
  readonly timeZone: string
  readonly origin?: string
}

const units = wordSet('SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR')

/** Undefined for calls that round no time, or in an unsupported way. */
export function roundingOf(reading: Reading, call: Call): Rounding | undefined {
  switch (call.name) {
    case 'FLOOR':
    case 'CEIL':
      return toUnit(reading, call)
    case 'DATE_TRUNC':
      return truncation(reading, call)
    case 'TIME_FLOOR':
    case 'TIME_CEIL':
      return toPeriod(reading, call)
    default:
      return undefined
  }
}

function toUnit(reading: Reading, call: Call): Rounding | undefined {
  const keyed = keyedBy('TO', reading, call)
  const granularity = inSession(reading, keyed?.word)
  if (keyed === undefined || granularity === undefined) return undefined
  return { operand: keyed.operand, granularity, isUp: call.name === 'CEIL' }
}

function inSession({ zone }: Reading, unit = ''): PeriodGranularity | undefined {
  const period = units.has(unit) ? simplePeriods[unit] : undefined
  return period === undefined ? undefined : { type: 'period', period, timeZone: zone.name }
}

function truncation(reading: Reading, call: Call): Rounding | undefined {
  const [unit, operand] = argumentsOf(reading, call, 2)
  const granularity = unit?.kind === 'string' ? inSession(reading, unit.value.toUpperCase()) : undefined
  if (granularity === undefined || operand === undefined) return undefined
  return { operand, granularity, isUp: false }
}

function toPeriod(reading: Reading, call: Call): Rounding | undefined {
  const [operand, period, origin, zoneName] = argumentsOf(reading, call, 4)
  const zone = zoneIn(reading, zoneName)
  if (operand === undefined || period?.kind !== 'string' || zone === undefined) return undefined
  const granularity = { type: 'period', period: period.value, timeZone: zone.name } as const
  const isUp = call.name === 'TIME_CEIL'
  if (origin === undefined || origin.kind === 'null') return { operand, granularity, isUp }
  const at = origin.kind === 'typed' ? readLiteral(reading.zone.rules, origin.type, origin.value) : undefined
  if (at === undefined) return undefined
  return { operand, granularity: { ...granularity, origin: new Date(at).toISOString() }, isUp }
}

/** Undefined where the granularity has no grid. */
export function round({ granularity, isUp }: Rounding, at: EpochMs): EpochMs | undefined {
  const grid = gridOf(granularity, { from: at, to: at + 1 })
  if ('bypass' in grid) return undefined
  const bucket = bucketAt(grid, at)
  const start = startOf(grid, bucket)
  return isUp && start < at ? endOf(grid, bucket) : start
}
