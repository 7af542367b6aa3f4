/**
 * Reads the order of a statement's rows where they are not sorted by their bucket: the sort columns, and whether the printed
 * values are enough to sort by them as Druid does. Without ORDER BY, Druid returns groups in the order of their keys;
 * every answer is checked for that.
 */
import type { RowKey } from './druid-plan.ts'
import { type Bypass, notDecomposable } from './reasons.ts'
import { Cursor } from './sql-cursor.ts'
import type { Expression } from './sql-expression.ts'
import type { SelectItem, Statement } from './sql-statement.ts'
import { isSymbol, type Token } from './sql-tokens.ts'

/** A `RowKey` by the number of its column. */
export interface OrderKey extends Pick<RowKey, 'kind' | 'isDescending'> {
  readonly column: number
}

export interface Order {
  readonly keys: readonly OrderKey[]
  readonly isTopN: boolean
  /** ORDER BY of the narrowed query: the bucket first. */
  readonly text: string
}

/** The bucket among the columns of SELECT and the keys of GROUP BY. */
export interface BucketPlace {
  readonly column: number
  /** The number of keys before it. */
  readonly leading: number
}

export function readOrder(statement: Statement, bucket: BucketPlace): Order | Bypass {
  const { orderBy, groupBy, limit } = statement
  const asked: OrderKey[] = []
  for (const { expression, isDescending } of orderBy) {
    const column = columnOf(statement, expression)
    if (column === undefined) return notDecomposable('ordered by something that is not selected')
    const kind = column === bucket.column ? 'time' : kindOf(statement, column)
    if (kind === undefined) return notDecomposable('ordered by a column whose type is not known')
    asked.push({ column, kind, isDescending })
  }
  const natural = naturalOrder(statement, bucket)
  const isTimed = asked.some(({ kind }) => kind === 'time')
  if ('bypass' in natural && !isTimed) return natural
  const keys = isTimed || 'bypass' in natural ? asked : [...asked, ...natural]
  const last = keys.findIndex(({ kind }) => kind === 'time')
  return {
    keys: keys.slice(0, last + 1),
    isTopN: groupBy.length === 1 && limit !== undefined,
    text: textOf(asked, bucket),
  }
}

/** Druid sorts rows that ORDER BY leaves equal by their keys. Keys behind the bucket never decide between two buckets. */
function naturalOrder(statement: Statement, { column, leading }: BucketPlace): readonly OrderKey[] | Bypass {
  const keys: OrderKey[] = []
  for (const expression of statement.groupBy.slice(0, leading)) {
    const key = groupColumn(statement, expression)
    if (key === undefined) return notDecomposable('grouped by something that is not selected')
    if (!isOneType(statement, statement.items[key]!.expression))
      return notDecomposable('grouped by a column whose type is not known')
    keys.push({ column: key, kind: 'group', isDescending: false })
  }
  return [...keys, { column, kind: 'time', isDescending: false }]
}

/** Rows that it leaves equal come in the order of their keys, as in the client's own query. */
const textOf = (asked: readonly OrderKey[], bucket: BucketPlace): string =>
  [
    `ORDER BY ${bucket.column + 1}`,
    ...asked
      .filter(({ kind }) => kind !== 'time')
      .map(({ column, isDescending }) => `${column + 1}${isDescending ? ' DESC' : ''}`),
  ].join(', ')

/** ORDER BY names a column by its number, by its name, or by repeating its expression. */
function columnOf(statement: Statement, key: Expression): number | undefined {
  const { items } = statement
  if (key.kind === 'number') return byNumber(items, key.text)
  if (key.kind === 'column' && key.path.length === 1) {
    const named = items.flatMap((item, i) => (columnName(item) === key.path[0] ? [i] : []))
    if (named.length > 0) return named.length === 1 ? named[0] : undefined
  }
  return sameAs(statement, key)
}

/** GROUP BY does not know the names of the SELECT list. */
const groupColumn = (statement: Statement, key: Expression): number | undefined =>
  key.kind === 'number' ? byNumber(statement.items, key.text) : sameAs(statement, key)

/** The column that a number in GROUP BY or ORDER BY stands for. */
export function byNumber(items: readonly SelectItem[], text: string): number | undefined {
  const index = /^[1-9]\d{0,4}$/.test(text) ? Number(text) - 1 : items.length
  return index < items.length ? index : undefined
}

function sameAs(statement: Statement, expression: Expression): number | undefined {
  const words = wordsOf(statement, expression)
  const index = statement.items.findIndex((item) => wordsOf(statement, item.expression) === words)
  return index < 0 ? undefined : index
}

/** Quoted and unquoted names are equal. */
const wordsOf = ({ tokens }: Statement, { first, last }: Expression): string =>
  JSON.stringify(
    tokens.slice(first, last + 1).map(({ kind, text }) => [kind === 'name' ? 'word' : kind, text]),
  )

export const columnName = ({ alias, expression }: SelectItem): string | undefined =>
  alias ?? (expression.kind === 'column' ? expression.path.at(-1) : undefined)

function kindOf(statement: Statement, column: number): OrderKey['kind'] | undefined {
  const { expression } = statement.items[column]!
  const isGrouped = statement.groupBy.some((key) => groupColumn(statement, key) === column)
  if (isGrouped) return isOneType(statement, expression) ? 'group' : undefined
  return aggregateKind(statement, expression)
}

/** Quoted values are text or times. Only one column is a time, and functions that return times have time or date in their name. */
function isOneType({ tokens }: Statement, expression: Expression): boolean {
  if (expression.kind === 'column') return expression.path.at(-1) !== '__time'
  const words = tokens.slice(expression.first, expression.last + 1)
  return !words.some(({ kind, text }) => (kind === 'word' || kind === 'name') && /time|date/i.test(text))
}

/** Aggregates that Druid sorts by the value it prints. It sorts sketches before it turns them into numbers. */
const aggregates = new Set(['COUNT', 'SUM', 'MIN', 'MAX', 'AVG'])
/** Functions that a `computed` column may have. */
const functions = new Set([...aggregates, 'CAST', 'ROUND', 'ABS', 'NULLIF', 'COALESCE', 'SAFE_DIVIDE'])

function aggregateKind({ tokens }: Statement, { first, last }: Expression): OrderKey['kind'] | undefined {
  const words = tokens.slice(first, last + 1)
  const called = words.filter((_, i) => isSymbol(words[i + 1], '('))
  const calls = called.flatMap(({ kind, keyword }) => (kind === 'word' ? [keyword] : []))
  if (words.some(({ keyword }) => keyword === 'DISTINCT' || keyword === 'CASE')) return undefined
  if (!calls.some((name) => aggregates.has(name))) return undefined
  if (aggregates.has(words[0]!.keyword) && isOneCall(words)) return 'number'
  return calls.every((name) => functions.has(name)) ? 'computed' : undefined
}

/** Whether there is nothing but a call, its FILTER included. */
function isOneCall(words: readonly Token[]): boolean {
  const cursor = new Cursor(words, 1, words.length)
  cursor.skipBrackets()
  if (cursor.takeWord('FILTER')) cursor.skipBrackets()
  return cursor.problem === undefined && cursor.isAtEnd
}
