/**
 * Order-preserving bytes of a label set, such that comparing ranks byte by byte is Prometheus' labels.Compare:
 * pairwise by name, then value, bytewise; where all common pairs are equal, fewer labels come first.
 *
 * Every name and value ends with 0x00, which sorts before any byte that goes on. Bytes 0x00 and 0x01 inside a string
 * are written as 0x01 0x01 and 0x01 0x02, which keeps their order and leaves 0x00 to the terminator.
 */

export class RankWriter {
  #bytes = Buffer.allocUnsafeSlow(1024)
  #length = 0

  reset(): void {
    this.#length = 0
  }

  /** The rank written since `reset`; valid until the next one begins. */
  get rank(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /**
   * Writes the rank of the label pairs from `text[start]` to a closing brace. Returns the position behind the brace, or
   * -1 where they cannot be read.
   */
  readLabels(text: Uint8Array, start: number): number {
    let at = start
    this.reset()
    if (text[at] === 0x7d) return at + 1
    for (;;) {
      if (text[at] !== 0x22) return -1
      at = this.appendString(text, at)
      if (at < 0 || text[at] !== 0x3a || text[at + 1] !== 0x22) return -1
      at = this.appendString(text, at + 1)
      if (at < 0) return -1
      const byte = text[at]!
      if (byte === 0x7d /* } */) return at + 1
      if (byte !== 0x2c /* , */) return -1
      at++
    }
  }

  /**
   * Appends the JSON string whose opening quote is at `text[at]`, unescaped and terminated. Returns the position
   * behind its closing quote, or -1 where it cannot be read or the text ends first (`text` has a zero byte behind
   * its last one).
   */
  appendString(text: Uint8Array, at: number): number {
    let position = this.#appendPlain(text, at + 1)
    while (text[position] === 0x5c) {
      position = this.#appendEscape(text, position)
      if (position < 0) return -1
      position = this.#appendPlain(text, position)
    }
    // The zero behind the text, or a control character, which JSON does not allow and the escapes below rely on.
    if (text[position] !== 0x22) return -1
    this.#bytes[this.#length++] = 0
    return position + 1
  }

  /** Copies up to the next quote, backslash or control character; leaves room for an escape and the terminator. */
  #appendPlain(text: Uint8Array, start: number): number {
    let bytes = this.#bytes
    let length = this.#length
    let at = start
    for (let byte = text[at]!; byte !== 0x22 && byte !== 0x5c && byte >= 0x20; byte = text[++at]!) {
      if (length + 16 > bytes.length) {
        this.#length = length
        bytes = this.#grow()
      }
      bytes[length++] = byte
    }
    this.#length = length
    if (length + 16 > bytes.length) this.#grow()
    return at
  }

  #appendEscape(text: Uint8Array, at: number): number {
    const kind = text[at + 1]!
    if (kind !== 0x75) {
      const plain = simpleEscapes.get(kind)
      if (plain === undefined) return -1
      this.#appendByte(plain)
      return at + 2
    }
    let unit = hexUnit(text, at + 2)
    if (unit < 0) return -1
    let next = at + 6
    if (unit >= 0xd800 && unit < 0xdc00 && text[next] === 0x5c && text[next + 1] === 0x75) {
      const low = hexUnit(text, next + 2)
      if (low >= 0xdc00 && low < 0xe000) {
        unit = 0x10000 + (unit - 0xd800) * 0x400 + (low - 0xdc00)
        next += 6
      }
    }
    for (const byte of Buffer.from(String.fromCodePoint(unit))) this.#appendByte(byte)
    return next
  }

  #appendByte(byte: number): void {
    if (byte <= 1) {
      this.#bytes[this.#length++] = 1
      this.#bytes[this.#length++] = byte + 1
    } else {
      this.#bytes[this.#length++] = byte
    }
  }

  #grow(): Buffer<ArrayBuffer> {
    const larger = Buffer.allocUnsafeSlow(2 * this.#bytes.length)
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
    return larger
  }
}

const simpleEscapes = new Map([...'"\\/'].map((char) => [char.charCodeAt(0), char.charCodeAt(0)] as const))
for (const [letter, byte] of Object.entries({ b: 8, f: 12, n: 10, r: 13, t: 9 })) {
  simpleEscapes.set(letter.charCodeAt(0), byte)
}

function hexUnit(text: Uint8Array, at: number): number {
  let unit = 0
  for (let i = at; i < at + 4; i++) {
    const digit = Number.parseInt(String.fromCharCode(text[i]!), 16)
    if (Number.isNaN(digit)) return -1
    unit = unit * 16 + digit
  }
  return unit
}
