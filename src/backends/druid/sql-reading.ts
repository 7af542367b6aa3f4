/** The context for parsing the expressions of a statement, and the arguments of its calls. */
import type { Zone } from '../../core/zone.ts'
import { Cursor } from './sql-cursor.ts'
import { type Call, type Expression, readExpression } from './sql-expression.ts'
import { readList, type Statement } from './sql-statement.ts'
import { exactZone } from './zoned.ts'

export interface Reading {
  readonly statement: Statement
  /** Of the session. */
  readonly zone: NamedZone
  /** By the token of the question mark that each stands for. */
  readonly parameters: ReadonlyMap<number, Parameter>
}

export interface NamedZone {
  readonly name: string
  readonly rules: Zone
}

export interface Parameter {
  readonly type: string
  /** Numbers as they were written. */
  readonly value: string
  readonly isText: boolean
}

/** The expressions between the commas; none where there are more than `most`, or where they cannot be read. */
export function argumentsOf({ statement }: Reading, { from, to }: Call, most: number): readonly Expression[] {
  const cursor = new Cursor(statement.tokens, from, to)
  const list = readList(cursor, readExpression)
  return cursor.problem === undefined && cursor.isAtEnd && list.length <= most ? list : []
}

export interface Keyed {
  readonly operand: Expression
  /** The one word behind the key word. */
  readonly word: string
}

/** CAST(operand AS word), FLOOR(operand TO word). */
export function keyedBy(key: 'AS' | 'TO', { statement }: Reading, { from, to }: Call): Keyed | undefined {
  const cursor = new Cursor(statement.tokens, from, to)
  const operand = readExpression(cursor)
  cursor.expectWord(key)
  const word = cursor.token.keyword
  cursor.at++
  return cursor.problem === undefined && cursor.isAtEnd && word !== '' ? { operand, word } : undefined
}

/** The rows' own time, under any name it can be called by. */
export function isTimeColumn(reading: Reading, expression: Expression): boolean {
  if (expression.kind === 'column') {
    const { path } = expression
    const isQualified = path.length === 2 && path[0] === reading.statement.table.qualifier
    return path.at(-1) === '__time' && (path.length === 1 || isQualified)
  }
  if (expression.kind !== 'call' || expression.name !== 'CAST') return false
  const cast = keyedBy('AS', reading, expression)
  return cast?.word === 'TIMESTAMP' && isTimeColumn(reading, cast.operand)
}

/** The same in milliseconds. */
export function isMillisColumn(reading: Reading, expression: Expression): boolean {
  if (expression.kind !== 'call') return false
  if (expression.name === 'CAST') {
    const cast = keyedBy('AS', reading, expression)
    return cast?.word === 'BIGINT' && isTimeColumn(reading, cast.operand)
  }
  const [column] = expression.name === 'TIMESTAMP_TO_MILLIS' ? argumentsOf(reading, expression, 1) : []
  return column !== undefined && isTimeColumn(reading, column)
}

/** The zone that an argument names; that of the session where there is none. */
export function zoneIn(reading: Reading, argument: Expression | undefined): NamedZone | undefined {
  if (argument === undefined) return reading.zone
  const rules = argument.kind === 'string' ? exactZone(argument.value) : undefined
  return rules === undefined || argument.kind !== 'string' ? undefined : { name: argument.value, rules }
}

/** A whole number that is written out, or given as a parameter. */
export function wholeIn({ parameters }: Reading, expression: Expression | undefined): number | undefined {
  if (expression?.kind === 'number') return wholeNumber(expression.text)
  const parameter = expression?.kind === 'parameter' ? parameters.get(expression.first) : undefined
  return parameter?.type === 'BIGINT' && !parameter.isText ? wholeNumber(parameter.value) : undefined
}

export const wholeNumber = (text: string): number | undefined =>
  /^-?\d{1,15}$/.test(text) ? Number(text) : undefined

export function textIn({ parameters }: Reading, expression: Expression | undefined): string | undefined {
  if (expression?.kind === 'string') return expression.value
  const parameter = expression?.kind === 'parameter' ? parameters.get(expression.first) : undefined
  return parameter?.type === 'VARCHAR' && parameter.isText ? parameter.value : undefined
}
