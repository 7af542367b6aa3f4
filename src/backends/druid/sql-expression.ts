/**
 * Parses SQL expressions as far as is needed to find bounds and buckets of time in them: logical operators,
 * comparisons, sums, and calls. Everything else that is well-formed is `other`, and left unparsed. The arguments of a
 * call are parsed by the code that knows the function.
 */
import { type Cursor, reserved } from './sql-cursor.ts'
import { type Token, wordSet } from './sql-tokens.ts'

/** Tokens [first .. last] of the statement; of an expression, brackets around it included. */
export interface TokenRange {
  readonly first: number
  readonly last: number
}

type Pair = { readonly left: Expression; readonly right: Expression }

export type Expression = TokenRange &
  (
    | { readonly kind: 'string'; readonly value: string }
    | { readonly kind: 'number'; readonly text: string }
    /** A literal with a type before it: DATE '2026-01-01'. */
    | { readonly kind: 'typed'; readonly type: string; readonly value: string }
    | { readonly kind: 'interval'; readonly value: string; readonly unit: string }
    | { readonly kind: 'parameter' | 'null' | 'other' }
    /** CURRENT_TIMESTAMP and its like. */
    | { readonly kind: 'clock'; readonly word: string }
    | { readonly kind: 'column'; readonly path: readonly string[] }
    /** The arguments are tokens [from .. to). */
    | { readonly kind: 'call'; readonly name: string; readonly from: number; readonly to: number }
    | ({ readonly kind: 'and' | 'or' } & Pair)
    | ({ readonly kind: 'binary'; readonly operator: string } & Pair)
    | {
        readonly kind: 'between'
        readonly operand: Expression
        readonly low: Expression
        readonly high: Expression
      }
  )

export type Call = Extract<Expression, { kind: 'call' }>
export type Binary = Extract<Expression, { kind: 'binary' }>

const comparisons = new Set(['=', '<>', '!=', '<', '>', '<=', '>='])
export const clockWords = wordSet('CURRENT_TIMESTAMP LOCALTIMESTAMP CURRENT_DATE CURRENT_TIME LOCALTIME')
export const userWords = wordSet('CURRENT_USER SESSION_USER SYSTEM_USER USER CURRENT_ROLE')
/** A word whose value is the time, or the user. */
export const isVolatile = ({ keyword }: Token): boolean => clockWords.has(keyword) || userWords.has(keyword)
/** Each call may have another result. */
export const unsafeFunctions = wordSet('RAND RAND_INTEGER RANDOM NOW UUID')
const constants = new Set(['TRUE', 'FALSE', 'UNKNOWN'])
/** Reserved words that also are functions. */
const functionsToo = new Set(['LEFT', 'RIGHT', 'ROW', 'ANY', 'SOME', 'ALL'])

/** Each level of brackets is a few calls deep, also for parsers of the arguments of calls. */
export const maxDepth = 100
/** Times are added up one call deeper for each of these; longer sums are of numbers. */
const maxTerms = 20

export function readExpression(cursor: Cursor): Expression {
  if (++cursor.depth > maxDepth) return refused(cursor, 'brackets nested too deeply')
  let left = readConjunction(cursor)
  while (cursor.takeWord('OR')) {
    const right = readConjunction(cursor)
    left = { kind: 'or', left, right, first: left.first, last: right.last }
  }
  cursor.depth--
  return left
}

function refused(cursor: Cursor, why: string): Expression {
  const { at } = cursor
  cursor.refuse(why)
  return { kind: 'other', first: at, last: at }
}

/** From `first` to the last token that was read. */
const otherFrom = (cursor: Cursor, first: number): Expression => ({
  kind: 'other',
  first,
  last: cursor.at - 1,
})

function readConjunction(cursor: Cursor): Expression {
  let left = readNegation(cursor)
  while (cursor.takeWord('AND')) {
    const right = readNegation(cursor)
    left = { kind: 'and', left, right, first: left.first, last: right.last }
  }
  return left
}

function readNegation(cursor: Cursor): Expression {
  const first = cursor.at
  while (cursor.takeWord('NOT'));
  const operand = readPredicate(cursor)
  return first === operand.first ? operand : otherFrom(cursor, first)
}

/** A chain of comparisons means something, but nothing that is of use here. */
function readPredicate(cursor: Cursor): Expression {
  const left = readSum(cursor)
  const found = readComparison(cursor, left)
  if (found === undefined) return left
  let isChain = false
  while (readComparison(cursor, found) !== undefined) isChain = true
  return isChain ? otherFrom(cursor, left.first) : found
}

function readComparison(cursor: Cursor, left: Expression): Expression | undefined {
  const { kind, text } = cursor.token
  if (kind === 'symbol' && comparisons.has(text)) {
    cursor.at++
    const right = readSum(cursor)
    return { kind: 'binary', operator: text, left, right, first: left.first, last: right.last }
  }
  if (cursor.takeWord('BETWEEN')) return readBetween(cursor, left)
  if (cursor.takeWord('IS')) readQuality(cursor)
  else if (!readMembership(cursor)) return undefined
  return otherFrom(cursor, left.first)
}

function readBetween(cursor: Cursor, operand: Expression): Expression {
  const isSymmetric = cursor.takeWord('SYMMETRIC')
  if (!isSymmetric) cursor.takeWord('ASYMMETRIC')
  const low = readSum(cursor)
  cursor.expectWord('AND')
  const high = readSum(cursor)
  if (isSymmetric) return otherFrom(cursor, operand.first)
  return { kind: 'between', operand, low, high, first: operand.first, last: high.last }
}

/** Behind IS. */
function readQuality(cursor: Cursor): void {
  cursor.takeWord('NOT')
  if (cursor.takeWord('DISTINCT')) {
    cursor.expectWord('FROM')
    readSum(cursor)
  } else if (constants.has(cursor.token.keyword)) cursor.at++
  else cursor.expectWord('NULL')
}

/** [NOT] IN, LIKE, SIMILAR TO, and NOT BETWEEN. */
function readMembership(cursor: Cursor): boolean {
  const isNegated = cursor.takeWord('NOT')
  if (cursor.takeWord('IN')) cursor.skipBrackets()
  else if (cursor.takeWord('LIKE')) readPattern(cursor)
  else if (cursor.takeWord('SIMILAR')) {
    cursor.expectWord('TO')
    readPattern(cursor)
  } else if (isNegated) {
    cursor.expectWord('BETWEEN')
    readBetween(cursor, otherFrom(cursor, cursor.at))
  } else return false
  return true
}

function readPattern(cursor: Cursor): void {
  readSum(cursor)
  if (cursor.takeWord('ESCAPE')) readSum(cursor)
}

function readSum(cursor: Cursor): Expression {
  let left = readProduct(cursor)
  for (let terms = 1; ; terms++) {
    const operator = cursor.token.kind === 'symbol' ? cursor.token.text : ''
    if (operator !== '+' && operator !== '-' && operator !== '||') return left
    cursor.at++
    const right = readProduct(cursor)
    const place = { first: left.first, last: right.last }
    const isOther = operator === '||' || terms >= maxTerms
    left = isOther ? { kind: 'other', ...place } : { kind: 'binary', operator, left, right, ...place }
  }
}

function readProduct(cursor: Cursor): Expression {
  const left = readSigned(cursor)
  const start = cursor.at
  while (cursor.takeSymbol('*') || cursor.takeSymbol('/') || cursor.takeSymbol('%')) readSigned(cursor)
  return cursor.at === start ? left : otherFrom(cursor, left.first)
}

function readSigned(cursor: Cursor): Expression {
  const first = cursor.at
  const isNegative = cursor.isSymbol('-')
  while (cursor.takeSymbol('-') || cursor.takeSymbol('+'));
  const signs = cursor.at - first
  const operand = readPrimary(cursor)
  if (signs === 0) return operand
  if (signs > 1 || !isNegative || operand.kind !== 'number') return otherFrom(cursor, first)
  return { kind: 'number', text: `-${operand.text}`, first, last: operand.last }
}

function readPrimary(cursor: Cursor): Expression {
  const first = cursor.at
  const { kind, text, keyword } = cursor.token
  if (kind === 'symbol') return readBracketed(cursor)
  if (kind === 'end') return refused(cursor, 'the query ends early')
  cursor.at++
  if (kind === 'string') return { kind, value: text, first, last: first }
  if (kind === 'number') return { kind, text, first, last: first }
  if (kind === 'name') return readPath(cursor, first)
  if (cursor.isSymbol('(')) return readCall(cursor, first)
  return readKeyword(cursor, keyword) ?? readPath(cursor, first)
}

function readBracketed(cursor: Cursor): Expression {
  const first = cursor.at
  if (cursor.takeSymbol('?')) return { kind: 'parameter', first, last: first }
  cursor.expectSymbol('(')
  const inner = readExpression(cursor)
  if (cursor.takeSymbol(')')) return { ...inner, first, last: cursor.at - 1 }
  // A row of several values.
  while (cursor.takeSymbol(',')) readExpression(cursor)
  cursor.expectSymbol(')')
  return otherFrom(cursor, first)
}

/** The expression that a keyword begins, unless it is a name. */
function readKeyword(cursor: Cursor, keyword: string): Expression | undefined {
  const first = cursor.at - 1
  const { kind, text } = cursor.token
  if (keyword === 'CASE') return readCase(cursor)
  if (keyword === 'NULL') return { kind: 'null', first, last: first }
  if (constants.has(keyword)) return { kind: 'other', first, last: first }
  if (clockWords.has(keyword)) return { kind: 'clock', word: keyword, first, last: first }
  if (keyword === 'INTERVAL' && kind === 'string') return readInterval(cursor)
  if ((keyword === 'TIMESTAMP' || keyword === 'DATE') && kind === 'string') {
    return { kind: 'typed', type: keyword, value: text, first, last: cursor.at++ }
  }
  return reserved.has(keyword) ? refused(cursor, `an unexpected ${keyword}`) : undefined
}

/** INTERVAL '1' DAY; with a precision or several units it is something else. */
function readInterval(cursor: Cursor): Expression {
  const first = cursor.at - 1
  const value = cursor.token.text
  cursor.at++
  const unit = cursor.token.keyword
  if (unit === '') return refused(cursor, 'an interval without a unit')
  const last = cursor.at++
  if (cursor.isSymbol('(')) cursor.skipBrackets()
  if (cursor.takeWord('TO')) cursor.at++
  return cursor.at - 1 === last ? { kind: 'interval', value, unit, first, last } : otherFrom(cursor, first)
}

function readCase(cursor: Cursor): Expression {
  const first = cursor.at - 1
  for (let depth = 1; depth > 0; ) {
    if (cursor.isAtEnd || cursor.isSymbol(')')) return refused(cursor, 'CASE without END')
    if (cursor.isSymbol('(')) {
      cursor.skipBrackets()
      continue
    }
    if (cursor.isWord('CASE')) depth++
    if (cursor.isWord('END')) depth--
    cursor.at++
  }
  return otherFrom(cursor, first)
}

/** A word and its arguments; aggregates with further clauses are something else. */
function readCall(cursor: Cursor, first: number): Expression {
  const name = cursor.tokens[first]!.keyword
  if (reserved.has(name) && !functionsToo.has(name)) return refused(cursor, `an unexpected ${name}`)
  const from = cursor.at + 1
  cursor.skipBrackets()
  const last = cursor.at - 1
  if (cursor.takeWord('WITHIN')) {
    cursor.expectWord('GROUP')
    cursor.skipBrackets()
  }
  if (cursor.takeWord('FILTER')) cursor.skipBrackets()
  const isPlain = cursor.at - 1 === last && !clockWords.has(name)
  return isPlain ? { kind: 'call', name, from, to: last, first, last } : otherFrom(cursor, first)
}

function readPath(cursor: Cursor, first: number): Expression {
  const path = [cursor.tokens[first]!.text]
  while (cursor.takeSymbol('.')) {
    const name = cursor.takeName()
    if (name === undefined) return refused(cursor, 'a name was expected behind the dot')
    path.push(name)
  }
  if (cursor.isSymbol('(')) return refused(cursor, 'a call by a quoted or qualified name')
  return { kind: 'column', path, first, last: cursor.at - 1 }
}
