/**
 * Finds rows in an answer, and the time in a row, without parsing either: bytes in, positions out. Bytes may not all
 * be there yet; scanning goes on where it stopped, so that a long row in small chunks is looked at once.
 */
import type { RowFormat } from './druid-plan.ts'
import type { AnswerEnding } from './whole-reading.ts'

const space = 0x20
const quote = 0x22
export const comma = 0x2c
export const newline = 0x0a
const backslash = 0x5c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/** bytes[.. length) end first. */
export const incomplete = -1
/** There is a control character in a string, which is not JSON. */
export const malformed = -2

export interface RowScanner {
  /** The first byte of every row; undefined where it may be anything. */
  readonly opening: number | undefined
  /** The byte behind the last field. */
  readonly closing: number
  /** A row begins at `start`. */
  begin(start: number): void
  /** Goes on at `at`, which is between two fields of a row. */
  resume(at: number): void
  /** The position behind the row, its separator not included, or why there is none. */
  find(bytes: Uint8Array, length: number): number
  /** Where the time begins in the row bytes[start .. end), or -1. */
  timeAt(bytes: Uint8Array, start: number, end: number): number
  /** Where the field that begins at `at` ends. */
  endOfField(bytes: Uint8Array, at: number, end: number): number
}

export function scannerOf({ row, time }: Pick<RowFormat, 'row' | 'time'>): RowScanner {
  if (row === 'csv') return new CsvRows(Number(time))
  return row === 'object' ? new ObjectRows(String(time)) : new ArrayRows(Number(time))
}

/**
 * The bytes behind a number of rows, headers included. Lines of JSON are separated, not ended, by newlines: where there
 * is none, the one that ends the last of them is there all the same.
 */
export function tailOf({ container, row, end }: AnswerEnding, rows: number): string {
  return container === 'lines' && row !== 'csv' && rows === 0 ? `\n${end}` : end
}

/** The end of an array or object, by its brackets. The kind of a bracket is not checked. */
class Nesting {
  #at = 0
  #depth = 0
  #isInString = false

  begin(at: number, depth = 0): void {
    this.#at = at
    this.#depth = depth
    this.#isInString = false
  }

  resume(at: number): void {
    this.begin(at, 1)
  }

  find(bytes: Uint8Array, length: number): number {
    let at = this.#at
    let depth = this.#depth
    let isInString = this.#isInString
    while (at < length) {
      if (isInString) {
        at = closingQuote(bytes, at, length)
        if (at === malformed) return malformed
        if (at === length || bytes[at] === backslash) break
        isInString = false
        at++
      }
      while (at < length) {
        const byte = bytes[at++]!
        if (byte === quote) {
          isInString = true
          break
        }
        if (byte < openBracket) continue
        // Brackets and braces differ by one bit.
        const bracket = byte | 0x20
        if (bracket === openBrace) depth++
        else if (bracket === closeBrace && --depth <= 0) return at
      }
    }
    this.#at = at
    this.#depth = depth
    this.#isInString = isInString
    return incomplete
  }
}

/** The next quote that is not escaped; where bytes[.. length) end first, `length`, or a backslash that is the last of them. */
function closingQuote(bytes: Uint8Array, from: number, length: number): number {
  let at = from
  for (; at < length; at++) {
    const byte = bytes[at]!
    if (byte > quote && byte !== backslash) continue
    if (byte === quote) return at
    if (byte < space) return malformed
    if (byte === backslash) {
      if (at + 1 === length) return at
      if (bytes[++at]! < space) return malformed
    }
  }
  return at
}

abstract class JsonRows extends Nesting {
  readonly #value = new Nesting()

  endOfField(bytes: Uint8Array, start: number, end: number): number {
    const first = bytes[start]
    if (first === quote) return endOfString(bytes, start, end)
    if (first === openBrace || first === openBracket) {
      this.#value.begin(start)
      const behind = this.#value.find(bytes, end)
      return behind < 0 ? end : behind
    }
    let at = start
    while (at < end && bytes[at] !== comma && bytes[at] !== closeBrace && bytes[at] !== closeBracket) at++
    return at
  }
}

class ObjectRows extends JsonRows implements RowScanner {
  readonly opening = openBrace
  readonly closing = closeBrace
  /** With its quotes. */
  readonly #name: Uint8Array

  constructor(name: string) {
    super()
    this.#name = Buffer.from(JSON.stringify(name))
  }

  timeAt(bytes: Uint8Array, start: number, end: number): number {
    for (let at = start + 1; at < end; at++) {
      if (bytes[at] !== quote) return -1
      const behind = endOfString(bytes, at, end)
      if (bytes[behind] !== colon) return -1
      if (behind - at === this.#name.length && this.#isNamedAt(bytes, at)) return behind + 1
      at = this.endOfField(bytes, behind + 1, end)
      if (bytes[at] !== comma) return -1
    }
    return -1
  }

  #isNamedAt(bytes: Uint8Array, at: number): boolean {
    const name = this.#name
    for (let i = 0; i < name.length; i++) if (bytes[at + i] !== name[i]) return false
    return true
  }
}

class ArrayRows extends JsonRows implements RowScanner {
  readonly opening = openBracket
  readonly closing = closeBracket
  readonly #field: number

  constructor(field: number) {
    super()
    this.#field = field
  }

  timeAt(bytes: Uint8Array, start: number, end: number): number {
    let at = start + 1
    for (let field = 0; field < this.#field; field++) {
      at = this.endOfField(bytes, at, end)
      if (bytes[at++] !== comma) return -1
    }
    return at < end ? at : -1
  }
}

/** Fields may be in quotes, which are doubled inside; a newline in quotes does not end the row. */
class CsvRows implements RowScanner {
  readonly opening = undefined
  readonly closing = newline
  readonly #field: number
  #at = 0
  #isQuoted = false

  constructor(field: number) {
    this.#field = field
  }

  begin(start: number): void {
    this.resume(start)
  }

  resume(at: number): void {
    this.#at = at
    this.#isQuoted = false
  }

  find(bytes: Uint8Array, length: number): number {
    let at = this.#at
    let isQuoted = this.#isQuoted
    for (; at < length; at++) {
      const byte = bytes[at]!
      if (byte === quote) isQuoted = !isQuoted
      else if (byte === newline && !isQuoted) return at
    }
    this.#at = at
    this.#isQuoted = isQuoted
    return incomplete
  }

  timeAt(bytes: Uint8Array, start: number, end: number): number {
    let at = start
    for (let field = 0; field < this.#field; field++) {
      at = this.endOfField(bytes, at, end)
      if (at >= end) return -1
      at++
    }
    return at
  }

  endOfField(bytes: Uint8Array, start: number, end: number): number {
    let isQuoted = false
    let at = start
    for (; at < end; at++) {
      const byte = bytes[at]
      if (byte === quote) isQuoted = !isQuoted
      else if (!isQuoted && (byte === comma || byte === newline)) break
    }
    return at
  }
}

/** The position behind the string whose first quote is at `start`. */
function endOfString(bytes: Uint8Array, start: number, end: number): number {
  let at = start + 1
  while (at < end) {
    const byte = bytes[at++]
    if (byte === quote) return at
    if (byte === backslash) at++
  }
  return end
}
