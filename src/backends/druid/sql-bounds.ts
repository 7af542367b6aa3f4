/**
 * Which rows a WHERE clause takes by their time alone. It is cut along its ANDs: a part that speaks of nothing but the
 * time of the row is a bound, and is replaced when the query is narrowed. Every other part is a filter of single rows,
 * also where it speaks of time, and stays as it is.
 */
import type { EpochMs } from '../../core/clock.ts'
import { intersectAll } from '../../core/interval.ts'
import type { Span } from './druid-plan.ts'
import { condense } from './intervals.ts'
import type { Binary, Call, Expression, TokenRange } from './sql-expression.ts'
import { readInterval } from './sql-literal.ts'
import { argumentsOf, isMillisColumn, isTimeColumn, type Reading, textIn, wholeIn } from './sql-reading.ts'
import { constant, type Moving, readBound, type Time } from './sql-time.ts'

/**
 * The instants that a condition admits: condensed, and endless where a bound is missing. None where a time does not exist
 * at that moment.
 */
type Admitted = Moving<Spans>

export interface Bounds extends Admitted {
  readonly places: readonly TokenRange[]
}

type Spans = readonly Span[]

const always: Span = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }

export function readBounds(reading: Reading, where: Expression | undefined): Bounds {
  const places: TokenRange[] = []
  const admitted: Admitted[] = []
  for (const part of where === undefined ? [] : operandsOf('and', where)) {
    const bound = readCondition(reading, part)
    if (bound === undefined) continue
    places.push({ first: part.first, last: part.last })
    admitted.push(bound)
  }
  return { places, ...combine(admitted, intersection) }
}

/** The operands of ANDs or ORs in each other, from left to right. Without recursion: the left side of a chain may be deep. */
function operandsOf(kind: 'and' | 'or', condition: Expression): readonly Expression[] {
  const operands: Expression[] = []
  const open = [condition]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.kind === kind) open.push(next.right, next.left)
    else operands.push(next)
  }
  return operands
}

function combine<T>(parts: readonly Moving<T>[], join: (values: readonly T[]) => Spans): Admitted {
  return {
    isRelative: parts.some(({ isRelative }) => isRelative),
    at(now) {
      const values: T[] = []
      for (const part of parts) {
        const value = part.at(now)
        if (value === undefined) return undefined
        values.push(value)
      }
      return join(values)
    },
  }
}

const union = (sets: readonly Spans[]): Spans => condense(sets.flat())
const intersection = (sets: readonly Spans[]): Spans => sets.reduce(intersectAll, [always])

/** Undefined for conditions that do not concern the row's time alone, or have an unsupported form. */
function readCondition(reading: Reading, condition: Expression): Admitted | undefined {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return readConnected(reading, condition)
    case 'binary':
      return readComparison(reading, condition)
    case 'between':
      return readBetween(reading, condition)
    case 'call':
      return condition.name === 'TIME_IN_INTERVAL' ? readInInterval(reading, condition) : undefined
    default:
      return undefined
  }
}

type Connected = Extract<Expression, { kind: 'and' | 'or' }>

function readConnected(reading: Reading, condition: Connected): Admitted | undefined {
  const parts: Admitted[] = []
  for (const operand of operandsOf(condition.kind, condition)) {
    const part = readCondition(reading, operand)
    if (part === undefined) return undefined
    parts.push(part)
  }
  return combine(parts, condition.kind === 'or' ? union : intersection)
}

/** The spans that each operator with a time on its right admits. */
const admits: ReadonlyMap<string, (at: EpochMs) => Span> = new Map([
  ['=', (at) => ({ from: at, to: at + 1 })],
  ['<', (at) => ({ ...always, to: at })],
  ['<=', (at) => ({ ...always, to: at + 1 })],
  ['>', (at) => ({ ...always, from: at + 1 })],
  ['>=', (at) => ({ ...always, from: at })],
])
const mirrored: Readonly<Record<string, string>> = { '=': '=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' }

function readComparison(reading: Reading, { operator, left, right }: Binary): Admitted | undefined {
  const straight = readLimit(reading, left, right)
  const time = straight ?? readLimit(reading, right, left)
  const admit = admits.get(straight === undefined ? (mirrored[operator] ?? '') : operator)
  return admit === undefined || time === undefined ? undefined : combine([time], ([at]) => [admit(at!)])
}

/** The value that the row's time is compared with, as a time or in milliseconds. */
function readLimit(reading: Reading, column: Expression, limit: Expression): Time | undefined {
  if (isTimeColumn(reading, column)) return readBound(reading, limit)
  return isMillisColumn(reading, column) ? constant(wholeIn(reading, limit)) : undefined
}

type Between = Extract<Expression, { kind: 'between' }>

/** The end belongs to it. */
function readBetween(reading: Reading, { operand, low, high }: Between): Admitted | undefined {
  const [from, to] = [readLimit(reading, operand, low), readLimit(reading, operand, high)]
  if (from === undefined || to === undefined) return undefined
  return combine([from, to], ([first, last]) => (first! <= last! ? [{ from: first!, to: last! + 1 }] : []))
}

function readInInterval(reading: Reading, call: Call): Admitted | undefined {
  const [operand, interval] = argumentsOf(reading, call, 2)
  if (operand === undefined || !isTimeColumn(reading, operand)) return undefined
  const text = textIn(reading, interval)
  const span = text === undefined ? undefined : readInterval(reading.zone.rules, text)
  return constant(span && (span.from < span.to ? [span] : []))
}
