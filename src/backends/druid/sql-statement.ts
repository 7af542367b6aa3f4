/**
 * The one form of a Druid SQL query whose rows can be cut by time: SELECT … FROM one table WHERE … GROUP BY … HAVING …
 * ORDER BY … LIMIT …, with SET statements before it. Everything else is refused by a word that stands in it.
 */

import type { JsonNode } from './json.ts'
import { type Bypass, type BypassReason, unparseable } from './reasons.ts'
import { Cursor } from './sql-cursor.ts'
import {
  type Expression,
  maxDepth,
  readExpression,
  type TokenRange,
  unsafeFunctions,
} from './sql-expression.ts'
import { isSymbol, type Token, tokensOf, wordSet } from './sql-tokens.ts'

export interface Opening {
  readonly tokens: readonly Token[]
  /** The token that the query itself begins with. */
  readonly select: number
  /** Of SET statements, as the context beside the query would have them. */
  readonly settings: ReadonlyMap<string, JsonNode>
}

export interface Statement extends Opening {
  readonly items: readonly SelectItem[]
  readonly table: Table
  readonly where: Expression | undefined
  readonly groupBy: readonly Expression[]
  readonly orderBy: readonly SortKey[]
  /** The token that ORDER BY begins with, or that it would stand before. */
  readonly orderAt: number
  readonly limit: Limit | undefined
}

interface Limit extends TokenRange {
  readonly rows: number
}

export interface SelectItem {
  readonly expression: Expression
  readonly alias: string | undefined
}

interface Table {
  readonly name: string
  /** The qualifier that may precede a column and a dot. */
  readonly qualifier: string
}

interface SortKey {
  readonly expression: Expression
  readonly isDescending: boolean
  /** Its last token. */
  readonly last: number
}

/** Words with which the rows are not those of one table, grouped once. */
const refusedWords = wordSet(
  'SELECT WITH UNION INTERSECT EXCEPT MINUS OVER WINDOW QUALIFY JOIN LATERAL UNNEST TABLE VALUES ROLLUP CUBE SETS ' +
    'PIVOT UNPIVOT MATCH_RECOGNIZE TABLESAMPLE EXISTS',
)

export function readStatement(text: string): Statement | Bypass {
  const opening = readOpening(text)
  if ('bypass' in opening) return opening
  const { tokens, select } = opening
  if (tokens[select]!.keyword !== 'SELECT')
    return { bypass: 'other_query_type', detail: 'SQL that does not begin with SELECT' }
  const refusal = refuseTokens(tokens, select + 1)
  if (refusal !== undefined) return refusal
  const cursor = new Cursor(tokens, select, tokens.length - 1)
  const statement = { ...opening, ...readSelect(cursor) }
  return cursor.problem ?? statement
}

/** The tokens of a text, and the SET statements before its query. */
export function readOpening(text: string): Opening | Bypass {
  const tokens = tokensOf(text)
  if ('bypass' in tokens) return tokens
  const cursor = new Cursor(tokens, 0, tokens.length - 1)
  const settings = readSettings(cursor)
  return cursor.problem ?? { tokens, select: cursor.at, settings }
}

function readSettings(cursor: Cursor): Opening['settings'] {
  const settings = new Map<string, JsonNode>()
  while (cursor.takeWord('SET')) {
    const key = cursor.takeName()
    if (key === undefined) {
      cursor.refuse('SET without a name')
      break
    }
    cursor.expectSymbol('=')
    settings.set(key, readSetting(cursor))
    cursor.expectSymbol(';')
  }
  return settings
}

const nowhere = { start: 0, end: 0 }

function readSetting(cursor: Cursor): JsonNode {
  const sign = cursor.takeSymbol('-') ? '-' : ''
  const { kind, text, keyword } = cursor.token
  cursor.at++
  if (kind === 'number') return { kind, text: sign + text, ...nowhere }
  if (sign === '' && kind === 'string') return { kind: 'text', value: text, ...nowhere }
  const value = settingWords.get(keyword)
  if (sign !== '' || value === undefined) cursor.refuse('SET to something that is no literal')
  return { kind: 'word', value: value ?? null, ...nowhere }
}

const settingWords: ReadonlyMap<string, boolean | null> = new Map([
  ['TRUE', true],
  ['FALSE', false],
  ['NULL', null],
])

function refuseTokens(tokens: readonly Token[], from: number): Bypass | undefined {
  let depth = 0
  for (let i = from; i < tokens.length; i++) {
    const { kind, text, keyword } = tokens[i]!
    if (kind === 'symbol') {
      depth += text === '(' ? 1 : text === ')' ? -1 : 0
      if (depth > maxDepth) return unparseable('brackets nested too deeply')
    }
    // Which function is called by it is not looked at.
    if (kind === 'name' && isSymbol(tokens[i + 1], '(')) return unparseable('a call by a quoted name')
    const isInner = keyword === 'LIMIT' && depth > 0
    const bypass = isInner ? 'not_decomposable' : refusedWord(keyword, isSymbol(tokens[i + 1], '('))
    if (bypass !== undefined) return { bypass, detail: keyword === 'SELECT' ? 'a subquery' : keyword }
  }
  return undefined
}

/** Of functions, those by which a row or a group gets a value from elsewhere: the rest depend on their row or group. */
function refusedWord(keyword: string, isCall: boolean): BypassReason | undefined {
  if (keyword === 'OFFSET' || keyword === 'FETCH') return 'limit'
  if (refusedWords.has(keyword) || (isCall && keyword === 'LOOKUP')) return 'not_decomposable'
  return isCall && unsafeFunctions.has(keyword) ? 'unsafe_function' : undefined
}

/** The clauses between SELECT and the end of a query. */
export type Clauses = Omit<Statement, keyof Opening | 'limit'>

function readSelect(cursor: Cursor): Clauses & Pick<Statement, 'limit'> {
  cursor.expectWord('SELECT')
  if (cursor.isWord('DISTINCT')) cursor.refuse('SELECT DISTINCT', 'not_decomposable')
  const clauses = { ...readClauses(cursor), limit: readLimit(cursor) }
  cursor.takeSymbol(';')
  if (!cursor.isAtEnd) cursor.refuse(`something unexpected: ${cursor.token.text}`)
  return clauses
}

/** LIMIT and a number of rows that is written out. */
function readLimit(cursor: Cursor): Limit | undefined {
  const first = cursor.at
  if (!cursor.takeWord('LIMIT')) return undefined
  const { kind, text } = cursor.token
  const rows = kind === 'number' && /^\d{1,9}$/.test(text) ? Number(text) : 0
  const last = cursor.at++
  if (rows === 0) cursor.refuse('LIMIT without a number of rows', 'limit')
  return { rows, first, last }
}

/** From the list of columns to ORDER BY, over one table. */
export function readClauses(cursor: Cursor): Clauses {
  const items = readList(cursor, readItem)
  cursor.expectWord('FROM')
  const table = readTable(cursor)
  const where = cursor.takeWord('WHERE') ? readExpression(cursor) : undefined
  const groupBy = takeBy(cursor, 'GROUP') && !takeNothing(cursor) ? readList(cursor, readExpression) : []
  if (cursor.takeWord('HAVING')) readExpression(cursor)
  const orderAt = cursor.at
  const orderBy = takeBy(cursor, 'ORDER') ? readList(cursor, readSortKey) : []
  return { items, table, where, groupBy, orderBy, orderAt }
}

/** GROUP BY () is one group of everything. */
function takeNothing(cursor: Cursor): boolean {
  const isNothing = cursor.isSymbol('(') && isSymbol(cursor.tokens[cursor.at + 1], ')')
  if (isNothing) cursor.at += 2
  return isNothing
}

function takeBy(cursor: Cursor, keyword: string): boolean {
  if (!cursor.takeWord(keyword)) return false
  cursor.expectWord('BY')
  return true
}

export function readList<T>(cursor: Cursor, read: (cursor: Cursor) => T): readonly T[] {
  const list = [read(cursor)]
  while (cursor.takeSymbol(',')) list.push(read(cursor))
  return list
}

function readItem(cursor: Cursor): SelectItem {
  const { at } = cursor
  if (cursor.takeSymbol('*')) return { expression: { kind: 'other', first: at, last: at }, alias: undefined }
  return { expression: readExpression(cursor), alias: takeAlias(cursor) }
}

function takeAlias(cursor: Cursor): string | undefined {
  const isNeeded = cursor.takeWord('AS')
  const alias = cursor.takeName()
  if (isNeeded && alias === undefined) cursor.refuse('AS without a name')
  return alias
}

function readTable(cursor: Cursor): Table {
  const path = [takeTableName(cursor)]
  while (cursor.takeSymbol('.')) path.push(takeTableName(cursor))
  const alias = takeAlias(cursor)
  const name = path.at(-1)!
  if (path.length > 2 || (path.length === 2 && path[0] !== 'druid')) {
    cursor.refuse(`a table of the schema ${path[0]}`, 'not_decomposable')
  }
  if (cursor.isSymbol(',')) cursor.refuse('several tables', 'not_decomposable')
  return { name, qualifier: alias ?? name }
}

function takeTableName(cursor: Cursor): string {
  const name = cursor.takeName()
  if (name === undefined) cursor.refuse('FROM something that is not one table')
  return name ?? ''
}

function readSortKey(cursor: Cursor): SortKey {
  const expression = readExpression(cursor)
  const isDescending = cursor.takeWord('DESC')
  if (!isDescending) cursor.takeWord('ASC')
  if (cursor.takeWord('NULLS') && !cursor.takeWord('FIRST')) cursor.expectWord('LAST')
  return { expression, isDescending, last: cursor.at - 1 }
}
