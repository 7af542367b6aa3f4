/**
 * The values that rows are sorted by: where they stand in the bytes of a row, and how Druid compares them. Measured on
 * Druid 33: nulls come before all else, -0.0 before 0.0, NaN behind all numbers, text in the order of its characters.
 */
import { type ByteRange, compareBytes } from '../../core/bytes.ts'
import type { RowFormat, RowKey, RowOrder } from './druid-plan.ts'
import { type RowScanner, scannerOf } from './rows.ts'

/** The kinds of values, in the order in which Druid sorts. */
const rank = { null: 0, number: 1, notANumber: 2, text: 3 } as const

const noBytes = Buffer.alloc(0)

/** The values of one row. The next row is read into the same memory. */
export class KeyValues {
  bytes: Buffer = noBytes
  bucket = 0
  /** Per key. */
  readonly ranks: Uint8Array
  readonly numbers: Float64Array
  /** The position of the value; of text, the part inside the quotes. */
  readonly starts: Uint32Array
  readonly ends: Uint32Array
  /** Whether there are escapes of JSON in the text. */
  readonly escaped: boolean[] = []

  constructor(keys: number) {
    this.ranks = new Uint8Array(keys)
    this.numbers = new Float64Array(keys)
    this.starts = new Uint32Array(keys)
    this.ends = new Uint32Array(keys)
  }
}

export class RowKeys {
  readonly #keys: readonly RowKey[]
  readonly #isTopN: boolean
  readonly #scanners: readonly RowScanner[]

  constructor(format: RowFormat, { keys, isTopN }: RowOrder) {
    this.#keys = keys
    this.#isTopN = isTopN
    this.#scanners = keys.map(({ field }) => scannerOf({ ...format, time: field }))
  }

  newValues(): KeyValues {
    return new KeyValues(this.#keys.length)
  }

  /** Reads the row bytes[start .. end), of which `values` has the bytes. Returns the mistake in a value, if any. */
  read(values: KeyValues, start: number, end: number): string | undefined {
    for (let i = 0; i < this.#keys.length; i++) {
      const key = this.#keys[i]!
      if (key.kind === 'time') continue
      const scanner = this.#scanners[i]!
      const at = scanner.timeAt(values.bytes, start, end)
      if (at < 0) return 'a row without a column that it is sorted by'
      values.starts[i] = at
      values.ends[i] = scanner.endOfField(values.bytes, at, end)
      const problem = readValue(values, i, key) ?? this.#refuse(values, i, key)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  /** Negative, zero or positive, as the row of `a` comes before that of `b`, beside it, or behind it. */
  compare(a: KeyValues, b: KeyValues): number {
    const keys = this.#keys
    for (let i = 0; i < keys.length; i++) {
      const { kind, isDescending } = keys[i]!
      const difference = kind === 'time' ? a.bucket - b.bucket : compareValues(a, b, i)
      if (difference !== 0) return isDescending ? -difference : difference
    }
    return 0
  }

  /** Values of which it is not certain that Druid sorts them as they are sorted here. */
  #refuse(values: KeyValues, i: number, { kind, isDescending }: RowKey): string | undefined {
    const found = values.ranks[i]
    // A topN has nulls last, in both directions.
    if (this.#isTopN && (found === rank.notANumber || (found === rank.null && !isDescending)))
      return 'a topN of values that are no numbers'
    if (found === rank.text) return refuseText(values, i)
    if (kind !== 'computed' || found !== rank.number) return undefined
    return isDecimal(values, i) ? undefined : 'a computed number that may have been rounded'
  }
}

const quote = 0x22
const minus = 0x2d
const backslash = 0x5c

function readValue(values: KeyValues, i: number, { kind }: RowKey): string | undefined {
  const { bytes, starts, ends, ranks } = values
  const [start, end] = [starts[i]!, ends[i]!]
  const first = bytes[start]!
  if (first === quote) {
    starts[i] = start + 1
    ends[i] = end - 1
    ranks[i] = rank.text
    return kind === 'group' ? undefined : readWord(values, i)
  }
  if (first === 0x6e /* n */) ranks[i] = rank.null
  else if (first === minus || (first >= 0x30 && first <= 0x39)) {
    ranks[i] = rank.number
    values.numbers[i] = readNumber(bytes, start, end)
  } else return 'a value that is neither text nor a number'
  return undefined
}

/** Numbers that JSON has no digits for. */
function readWord(values: KeyValues, i: number): string | undefined {
  const word = values.bytes.toString('latin1', values.starts[i], values.ends[i])
  const isInfinite = word === 'Infinity' || word === '-Infinity'
  if (!isInfinite && word !== 'NaN') return 'text in a column of numbers'
  values.ranks[i] = isInfinite ? rank.number : rank.notANumber
  values.numbers[i] = isInfinite ? Number(word) : 0
  return undefined
}

/** So many digits are exact as a double. */
const mostSafeDigits = 15

function readNumber(bytes: Buffer, start: number, end: number): number {
  const isNegative = bytes[start] === minus
  const from = isNegative ? start + 1 : start
  let value = 0
  for (let at = from; at < end; at++) {
    const digit = bytes[at]! - 48
    if (!(digit >= 0 && digit <= 9) || at - from >= mostSafeDigits)
      return Number(bytes.toString('latin1', start, end))
    value = value * 10 + digit
  }
  return isNegative ? -value : value
}

/**
 * A computed number is sorted by its value before it was printed. A double is printed in full; a whole number may have
 * been rounded to, and beyond 2^53 a double may stand for several of them.
 */
function isDecimal({ bytes, starts, ends, numbers }: KeyValues, i: number): boolean {
  const number = numbers[i]!
  if (!Number.isFinite(number)) return true
  return Math.abs(number) < 2 ** 53 && bytes.subarray(starts[i]!, ends[i]!).includes(0x2e)
}

/**
 * Druid compares text by UTF-16 in one place and by UTF-8 in another: they differ from U+E000 on. Text that looks like JSON
 * may be a column of another type, which is sorted in another way.
 */
function refuseText(values: KeyValues, i: number): string | undefined {
  const { bytes } = values
  const [start, end] = [values.starts[i]!, values.ends[i]!]
  const first = start < end ? bytes[start]! : 0
  const isJson = first === 0x7b /* { */ || first === 0x5b /* [ */
  if (isJson || (first === backslash && bytes[start + 1] === quote)) return 'text that looks like JSON'
  let isEscaped = false
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte === 0xee || byte === 0xef) return 'text whose order depends on its encoding'
    if (byte === backslash) isEscaped = true
  }
  values.escaped[i] = isEscaped
  return undefined
}

function compareValues(a: KeyValues, b: KeyValues, i: number): number {
  const kind = a.ranks[i]!
  const difference = kind - b.ranks[i]!
  if (difference !== 0) return difference
  if (kind === rank.number) return compareNumbers(a, b, i)
  return kind === rank.text ? compareText(a, b, i) : 0
}

function compareNumbers(a: KeyValues, b: KeyValues, i: number): number {
  const [x, y] = [a.numbers[i]!, b.numbers[i]!]
  if (x < y) return -1
  if (x > y) return 1
  if (x === 0) return Number(Object.is(y, -0)) - Number(Object.is(x, -0))
  // Only longs have more digits than a double.
  if (Math.abs(x) < 2 ** 53 || !Number.isFinite(x)) return 0
  return compareDigits(a, b, i)
}

/** Of two whole numbers that are the same double. */
function compareDigits(a: KeyValues, b: KeyValues, i: number): number {
  const [left, right] = [digitsOf(a, i), digitsOf(b, i)]
  const longer = left.end - left.start - (right.end - right.start)
  const difference = longer === 0 ? compareBytes(left, right) : longer
  return a.bytes[a.starts[i]!] === minus ? -difference : difference
}

function digitsOf({ bytes, starts, ends }: KeyValues, i: number): ByteRange {
  const start = starts[i]!
  return { bytes, start: bytes[start] === minus ? start + 1 : start, end: ends[i]! }
}

function compareText(a: KeyValues, b: KeyValues, i: number): number {
  return compareBytes(textOf(a, i), textOf(b, i))
}

function textOf({ bytes, starts, ends, escaped }: KeyValues, i: number): ByteRange {
  const [start, end] = [starts[i]!, ends[i]!]
  if (escaped[i] !== true) return { bytes, start, end }
  const plain = Buffer.from(JSON.parse(bytes.toString('utf8', start - 1, end + 1)) as string)
  return { bytes: plain, start: 0, end: plain.length }
}
