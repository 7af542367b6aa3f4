/**
 * Which rows a WHERE clause takes by their time alone. It is cut along its ANDs: a part that speaks of nothing but the
 * time of the row is a bound, and is replaced when the query is narrowed. Every other part is a filter of single rows,
 * also where it speaks of time, and stays as it is.
 */
import type { EpochMs } from '../../core/clock.ts'
import type { Span } from './druid-plan.ts'
import { condense, parseInterval } from './intervals.ts'
import type { Binary, Call, Expression } from './sql-expression.ts'
import { argumentsOf, isTimeColumn, type Reading, textIn } from './sql-reading.ts'
import { readTime, type Time } from './sql-time.ts'
import { parseIntervalIn } from './zoned-interval.ts'

export interface Bounds {
  /** Tokens [first .. last] of each bound. */
  readonly places: readonly { readonly first: number; readonly last: number }[]
  readonly isRelative: boolean
  /** Condensed, in time order, possibly endless. Undefined where a time of it does not exist at that moment. */
  spansAt(now: EpochMs): readonly Span[] | undefined
}
