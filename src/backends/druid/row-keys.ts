/**
 * The values that rows are sorted by: their position in the bytes of a row, and how Druid compares them. Measured on Druid 33:
 * nulls sort before everything else, -0.0 before 0.0, NaN after all numbers, and text by its characters.
 */
import { type ByteRange, compareBytes } from '../../core/bytes.ts'
import type { RowFormat, RowKey, RowOrder } from './druid-plan.ts'
import { type RowScanner, scannerOf } from './rows.ts'
import { readWhole } from './rows-time.ts'

/** The kinds of values, in Druid's sort order. */
const rank = { null: 0, number: 1, notANumber: 2, text: 3 } as const

const escapedText = 1

/** The sort values of several rows, in flat arrays. A slot holds one row; the next row of its bucket overwrites it. */
export class KeyTable {
  readonly keys: number
  /** Per slot. */
  readonly bytes: Buffer[] = []
  readonly buckets: Float64Array
  /** Per slot and key. */
  readonly ranks: Uint8Array
  readonly escapes: Uint8Array
  readonly numbers: Float64Array
  /** The position of the value; of text, without its quotes. */
  readonly starts: Uint32Array
  readonly ends: Uint32Array

  constructor(slots: number, keys: number) {
    this.keys = keys
    this.buckets = new Float64Array(slots)
    this.ranks = new Uint8Array(slots * keys)
    this.escapes = new Uint8Array(slots * keys)
    this.numbers = new Float64Array(slots * keys)
    this.starts = new Uint32Array(slots * keys)
    this.ends = new Uint32Array(slots * keys)
  }
}

/** One value of a table. */
interface KeyPosition {
  readonly bytes: Buffer
  /** Its index in the arrays per slot and key. */
  readonly at: number
}

export class RowKeys {
  readonly #keys: readonly RowKey[]
  readonly #isTopN: boolean
  readonly #scanners: readonly RowScanner[]

  constructor({ row }: RowFormat, { keys, isTopN }: RowOrder) {
    this.#keys = keys
    this.#isTopN = isTopN
    this.#scanners = keys.map(({ field }) => scannerOf({ row, time: field }))
  }

  newTable(slots: number): KeyTable {
    return new KeyTable(slots, this.#keys.length)
  }

  /** Reads the row [start, end) of the slot's bytes. Returns the problem with a value, if there is one. */
  read(table: KeyTable, slot: number, [start, end]: readonly [number, number]): string | undefined {
    const bytes = table.bytes[slot]!
    for (let i = 0; i < this.#keys.length; i++) {
      const key = this.#keys[i]!
      if (key.kind === 'time') continue
      const scanner = this.#scanners[i]!
      const valueStart = scanner.timeAt(bytes, start, end)
      if (valueStart < 0) return 'a row without a column that it is sorted by'
      const at = slot * table.keys + i
      table.starts[at] = valueStart
      table.ends[at] = scanner.endOfField(bytes, valueStart, end)
      const position = { bytes, at }
      const problem = readValue(table, position, key) ?? this.#refuse(table, position, key)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  /** Negative, zero or positive: the row of slot `a` comes before that of slot `b`, equals it, or comes after it. */
  compare(table: KeyTable, a: number, b: number): number {
    const keys = this.#keys
    for (let i = 0; i < keys.length; i++) {
      const { kind, isDescending } = keys[i]!
      const difference =
        kind === 'time' ? table.buckets[a]! - table.buckets[b]! : compareValues(table, [a, b], i)
      if (difference !== 0) return isDescending ? -difference : difference
    }
    return 0
  }

  /** Refuses values that Druid may sort in another way. */
  #refuse(table: KeyTable, position: KeyPosition, { kind, isDescending }: RowKey): string | undefined {
    const found = table.ranks[position.at]
    // A topN puts nulls last in both directions.
    if (this.#isTopN && (found === rank.notANumber || (found === rank.null && !isDescending)))
      return 'a topN of values that are no numbers'
    if (found === rank.text) return refuseText(table, position)
    if (kind !== 'computed' || found !== rank.number) return undefined
    return isDecimal(table, position) ? undefined : 'a computed number that may have been rounded'
  }
}

const quote = 0x22
const minus = 0x2d
const backslash = 0x5c

function readValue(table: KeyTable, position: KeyPosition, { kind }: RowKey): string | undefined {
  const { bytes, at } = position
  const [start, end] = [table.starts[at]!, table.ends[at]!]
  const first = bytes[start]!
  if (first === quote) {
    table.starts[at] = start + 1
    table.ends[at] = end - 1
    table.ranks[at] = rank.text
    return kind === 'group' ? undefined : readWord(table, position)
  }
  if (first === 0x6e /* n */) table.ranks[at] = rank.null
  else if (first === minus || (first >= 0x30 && first <= 0x39)) {
    table.ranks[at] = rank.number
    table.numbers[at] = readNumber(bytes, start, end)
  } else return 'a value that is neither text nor a number'
  return undefined
}

/** Numbers that JSON cannot write in digits. */
function readWord(table: KeyTable, { bytes, at }: KeyPosition): string | undefined {
  const word = bytes.toString('latin1', table.starts[at], table.ends[at])
  const isInfinite = word === 'Infinity' || word === '-Infinity'
  if (!isInfinite && word !== 'NaN') return 'text in a column of numbers'
  table.ranks[at] = isInfinite ? rank.number : rank.notANumber
  table.numbers[at] = isInfinite ? Number(word) : 0
  return undefined
}

function readNumber(bytes: Buffer, start: number, end: number): number {
  const whole = readWhole(bytes, start, end)
  return Number.isNaN(whole) ? Number(bytes.toString('latin1', start, end)) : whole
}

/**
 * Druid sorts a computed number before it prints it. A double is printed in full. A whole number may be the rounded form of
 * several doubles, and a double beyond 2^53 may stand for several whole numbers.
 */
function isDecimal({ starts, ends, numbers }: KeyTable, { bytes, at }: KeyPosition): boolean {
  const number = numbers[at]!
  if (!Number.isFinite(number)) return true
  return Math.abs(number) < 2 ** 53 && bytes.subarray(starts[at]!, ends[at]!).includes(0x2e)
}

/**
 * Druid compares text by UTF-16 in some places and by UTF-8 in others; the orders differ from U+E000 on. Text that looks
 * like JSON may belong to a column of another type, which sorts in another way.
 */
function refuseText(table: KeyTable, { bytes, at: index }: KeyPosition): string | undefined {
  const [start, end] = [table.starts[index]!, table.ends[index]!]
  const first = start < end ? bytes[start]! : 0
  if (first === minus && bytes.toString('latin1', start, end) === '-Infinity')
    return 'text that looks like a number'
  const isJson = first === 0x7b /* { */ || first === 0x5b /* [ */
  if (isJson || (first === backslash && bytes[start + 1] === quote)) return 'text that looks like JSON'
  let escapes = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte === 0xee || byte === 0xef) return 'text whose order depends on its encoding'
    if (byte === backslash) escapes = escapedText
  }
  table.escapes[index] = escapes
  return undefined
}

/** Compares one key of two slots. */
function compareValues(table: KeyTable, [a, b]: readonly [number, number], key: number): number {
  const left = { bytes: table.bytes[a]!, at: a * table.keys + key }
  const right = { bytes: table.bytes[b]!, at: b * table.keys + key }
  const kind = table.ranks[left.at]!
  const difference = kind - table.ranks[right.at]!
  if (difference !== 0) return difference
  if (kind === rank.number) return compareNumbers(table, left, right)
  return kind === rank.text ? compareBytes(textOf(table, left), textOf(table, right)) : 0
}

function compareNumbers(table: KeyTable, left: KeyPosition, right: KeyPosition): number {
  const [x, y] = [table.numbers[left.at]!, table.numbers[right.at]!]
  if (x < y) return -1
  if (x > y) return 1
  if (x === 0) return Number(Object.is(y, -0)) - Number(Object.is(x, -0))
  // Only longs have more digits than a double.
  if (Math.abs(x) < 2 ** 53 || !Number.isFinite(x)) return 0
  return compareDigits(table, left, right)
}

/** Compares two whole numbers that round to the same double. */
function compareDigits(table: KeyTable, left: KeyPosition, right: KeyPosition): number {
  const [a, b] = [digitsOf(table, left), digitsOf(table, right)]
  const longer = a.end - a.start - (b.end - b.start)
  const difference = longer === 0 ? compareBytes(a, b) : longer
  return left.bytes[table.starts[left.at]!] === minus ? -difference : difference
}

function digitsOf({ starts, ends }: KeyTable, { bytes, at }: KeyPosition): ByteRange {
  const start = starts[at]!
  return { bytes, start: bytes[start] === minus ? start + 1 : start, end: ends[at]! }
}

function textOf({ starts, ends, escapes }: KeyTable, { bytes, at }: KeyPosition): ByteRange {
  const [start, end] = [starts[at]!, ends[at]!]
  if (escapes[at] !== escapedText) return { bytes, start, end }
  const plain = Buffer.from(JSON.parse(bytes.toString('utf8', start - 1, end + 1)) as string)
  return { bytes: plain, start: 0, end: plain.length }
}
