/**
 * How two answers to one request differ. Druid itself writes the members of `timeseries` and `topN` rows in another
 * order, and their timestamps in another zone, when its own caches are warm or segments were merged: there, equal
 * values are equal answers. Everything else it writes the same way every time.
 */
import { bufferOf } from '../../core/bytes.ts'
import { isObject } from '../../core/json-object.ts'
import type { AnswerDifference } from '../backend.ts'
import { readInstant } from './rows-time.ts'

export function differenceFrom(direct: Uint8Array, answer: Uint8Array): AnswerDifference {
  if (Buffer.compare(direct, answer) === 0) return 'none'
  const [own, other] = [rowsOf(direct), rowsOf(answer)]
  if (own === undefined || other === undefined || own.length !== other.length) return 'data'
  return own.every((row, i) => isSameRow(row, other[i]!)) ? 'none' : 'data'
}

interface Row {
  readonly timestamp: unknown
  readonly result: unknown
}

/** The rows of a `timeseries` or `topN` answer; undefined for any other. */
function rowsOf(answer: Uint8Array): readonly Row[] | undefined {
  const rows = parse(answer)
  return Array.isArray(rows) && rows.every(isRow) ? rows : undefined
}

function parse(answer: Uint8Array): unknown {
  try {
    return JSON.parse(bufferOf(answer).toString(), asWritten)
  } catch {
    // No JSON, or nested deeper than anything that Druid writes.
    return undefined
  }
}

/**
 * A number becomes its own text: 1.0 is not 1, and a long may be longer than a double. Texts keep the quote before them, so
 * that none equals a number. The type library does not know the third parameter yet.
 */
function asWritten(_key: string, value: unknown, ...[context]: [] | [{ source: string }]): unknown {
  if (typeof value === 'string') return `"${value}`
  return typeof value === 'number' && context !== undefined ? context.source : value
}

const isRow = (value: unknown): value is Row =>
  isObject(value) && Object.keys(value).length === 2 && 'timestamp' in value && 'result' in value

const isSameRow = (a: Row, b: Row): boolean => instantOf(a) === instantOf(b) && isSame(a.result, b.result)

/** A value that is not an instant stands for itself. */
function instantOf({ timestamp }: Row): unknown {
  if (typeof timestamp !== 'string') return timestamp
  const text = timestamp.replace(/^"/, '')
  const bytes = Buffer.from(text)
  const instant = readInstant(bytes, 0, bytes.length)
  return Number.isNaN(instant) ? text : instant
}

/** Deeper than anything that Druid writes. */
const deepest = 100

function isSame(a: unknown, b: unknown, depth = 0): boolean {
  if (depth > deepest) return false
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((value, i) => isSame(value, b[i], depth + 1))
  if (!isObject(a) || !isObject(b)) return a === b
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name], depth + 1))
}
