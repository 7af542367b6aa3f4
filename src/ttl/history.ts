/**
 * Observations from before, to learn from: lines of JSON, one per bucket that was looked at twice. `age` is how old the
 * bucket was at the first look, `gap` is the time between the two, both in seconds.
 */
import type { EpochMs } from '../core/clock.ts'
import { type Fields, readJsonObject } from '../core/json-object.ts'
import type { LearnedShape, Refetch } from './learned/learning.ts'

export interface HistoryRow {
  /** A key, or the text of a query. */
  readonly shape: string
  readonly age: number
  readonly gap: number
  readonly changed: boolean
}

export interface HistoryMistake {
  /** Counted from 1. */
  readonly line: number
  readonly mistake: string
}

const known: readonly string[] = ['shape', 'age', 'gap', 'changed']

/** All rows, or the first mistake. Empty lines are skipped. */
export function readHistory(text: string): readonly HistoryRow[] | HistoryMistake {
  const rows: HistoryRow[] = []
  let line = 0
  for (const each of text.split('\n')) {
    line++
    if (each.trim() === '') continue
    const row = readRow(each)
    if (typeof row === 'string') return { line, mistake: row }
    rows.push(row)
  }
  return rows
}

function readRow(text: string): HistoryRow | string {
  const given = readJsonObject(text, known)
  switch (given.kind) {
    case 'not_json':
      return 'is not JSON'
    case 'not_object':
      return 'is not a JSON object'
    case 'unknown_field':
      return `"${given.name}" is not known; expected ${known.join(', ')}`
    case 'object':
      return rowOf(given.fields)
  }
}

function rowOf({ shape, age, gap, changed }: Fields): HistoryRow | string {
  if (typeof shape !== 'string' || shape === '') return '"shape" is not a text'
  if (typeof age !== 'number' || !Number.isFinite(age)) return '"age" is not a number of seconds'
  if (typeof gap !== 'number' || !(gap > 0 && gap < Number.POSITIVE_INFINITY))
    return '"gap" is not a number of seconds above 0'
  const isChanged = changed === true || changed === 1
  if (!isChanged && changed !== false && changed !== 0) return '"changed" is not true or false'
  return { shape, age, gap, changed: isChanged }
}

/** Buckets of one line after the other may have changed together, so they are one refetch, but not without end. */
const maxTogether = 100

/** The rows as if they had been refetched now; neighbours of one shape together. */
export function refetchesOf(
  rows: readonly HistoryRow[],
  shapeOf: (name: string) => LearnedShape,
  at: EpochMs,
): Refetch[] {
  const refetches: Refetch[] = []
  for (let from = 0, to = 0; from < rows.length; from = to) {
    const { shape } = rows[from]!
    while (to < rows.length && to - from < maxTogether && rows[to]!.shape === shape) to++
    const together = rows.slice(from, to)
    refetches.push({
      ...{ kind: 'refetch', shape: shapeOf(shape), at, isHistory: true },
      oldAges: Float64Array.from(together, ({ age }) => age * 1000),
      newAges: Float64Array.from(together, ({ age, gap }) => (age + gap) * 1000),
      changed: Uint8Array.from(together, ({ changed }) => Number(changed)),
    })
  }
  return refetches
}
