/**
 * Whether the rows of a statement are grouped by buckets of time, in which order they come, and where in a row the bucket
 * stands. Druid resolves numbers in GROUP BY and ORDER BY, and names of the SELECT list in ORDER BY only.
 */

import { type Bypass, notDecomposable } from './reasons.ts'
import type { Expression } from './sql-expression.ts'
import { byNumber, columnName, type Order, readOrder } from './sql-order.ts'
import { isTimeColumn, type Reading } from './sql-reading.ts'
import { type PeriodGranularity, roundingOf } from './sql-rounding.ts'
import type { SelectItem } from './sql-statement.ts'

export interface Bucketing {
  readonly granularity: PeriodGranularity
  /** The column that holds the bucket's beginning. */
  readonly column: number
  /** The names of the columns; undefined where two have one name. */
  readonly names: readonly string[] | undefined
  readonly isDescending: boolean
  /** GROUP BY has nothing else: a bucket has one row. */
  readonly isAlone: boolean
  /** Set where rows are not sorted by their bucket first. */
  readonly order: Order | undefined
}

const noBucket = (detail: string): Bypass => ({ bypass: 'no_time_grouping', detail })

export function readBucketing(reading: Reading): Bucketing | Bypass {
  const { items, groupBy, orderBy } = reading.statement
  const grouped = groupBy.map((key) => bucketOf(reading, resolved(items, key)))
  const leading = grouped.findIndex((bucket) => bucket !== undefined)
  if (leading < 0) return noBucket('not grouped by a floor of __time')
  const first = orderBy[0]
  const sorted = first === undefined ? undefined : bucketOf(reading, sortedBy(items, first.expression))
  const bucket = sorted ?? grouped[leading]!
  if (!grouped.some((other) => isSame(other, bucket)))
    return noBucket('ordered by another bucket than grouped')
  const column = items.findIndex(({ expression }) => isSame(bucketOf(reading, expression), bucket))
  if (column < 0) return noBucket('the time bucket is not selected')
  if (isTimeHidden(items, column)) return notDecomposable('another column is called __time')
  const isTimed = sorted !== undefined || (first === undefined && leading === 0)
  if (sorted === undefined && isJoin(reading)) return notDecomposable('exact counts may come in any order')
  const order = isTimed ? undefined : readOrder(reading.statement, { column, leading })
  if (order !== undefined && 'bypass' in order) return order
  return {
    granularity: bucket,
    column,
    names: namesOf(items),
    isDescending: sorted !== undefined && first!.isDescending,
    isAlone: groupBy.length === 1,
    order,
  }
}

/** Druid plans several exact counts of distinct values as a join, whose rows have no fixed order. */
const isJoin = ({ statement: { tokens } }: Reading): boolean =>
  tokens.filter(({ keyword }) => keyword === 'DISTINCT').length > 1

function bucketOf(reading: Reading, expression: Expression | undefined): PeriodGranularity | undefined {
  const rounding = expression?.kind === 'call' ? roundingOf(reading, expression) : undefined
  if (rounding === undefined || rounding.isUp || !isTimeColumn(reading, rounding.operand)) return undefined
  return rounding.granularity
}

const isSame = (a: PeriodGranularity | undefined, b: PeriodGranularity): boolean =>
  a?.period === b.period && a.timeZone === b.timeZone && a.origin === b.origin

/** The column that a number stands for; anything else itself. */
function resolved(items: readonly SelectItem[], key: Expression): Expression | undefined {
  return key.kind === 'number' ? items[byNumber(items, key.text) ?? -1]?.expression : key
}

/** A name of the SELECT list hides the table's column of that name. */
function sortedBy(items: readonly SelectItem[], key: Expression): Expression | undefined {
  if (key.kind !== 'column' || key.path.length > 1) return resolved(items, key)
  const named = items.filter((item) => columnName(item) === key.path[0])
  return named.length === 0 ? key : named.length === 1 ? named[0]!.expression : undefined
}

/** Expressions in ORDER BY would then speak of that column. */
const isTimeHidden = (items: readonly SelectItem[], bucket: number): boolean =>
  items.some(({ alias }, i) => alias === '__time' && i !== bucket)

/** Druid calls a column without a name by how many different names there are before it. */
function namesOf(items: readonly SelectItem[]): readonly string[] | undefined {
  const names = items.map((item, i) => columnName(item) ?? `EXPR$${i}`)
  return new Set(names).size < names.length ? undefined : names
}
