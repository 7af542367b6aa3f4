/** The little of the protobuf wire format that remote write needs, appended to a growing buffer. */

const VARINT = 0
const FIXED64 = 1
const LENGTH_DELIMITED = 2

export class ProtobufWriter {
  #bytes = Buffer.allocUnsafe(256)
  #length = 0

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** int64, uint64, enum: negative numbers are written in two's complement, as int64 wants. */
  varint(field: number, value: number | bigint): this {
    this.#tag(field, VARINT)
    this.#varint(value)
    return this
  }

  /** sint32, sint64. */
  zigzag(field: number, value: number | bigint): this {
    return this.varint(field, zigzag(value))
  }

  double(field: number, value: number): this {
    this.#tag(field, FIXED64)
    this.#reserve(8)
    this.#length = this.#bytes.writeDoubleLE(value, this.#length)
    return this
  }

  /** A double by its bits: which of the many NaN a number holds is not something JavaScript promises to keep. */
  doubleBits(field: number, bits: bigint): this {
    this.#tag(field, FIXED64)
    this.#reserve(8)
    this.#length = this.#bytes.writeBigUInt64LE(bits, this.#length)
    return this
  }

  bytes(field: number, value: Uint8Array): this {
    this.#tag(field, LENGTH_DELIMITED)
    this.#varint(value.length)
    this.#reserve(value.length)
    this.#bytes.set(value, this.#length)
    this.#length += value.length
    return this
  }

  string(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value))
  }

  message(field: number, write: (writer: ProtobufWriter) => void): this {
    const inner = new ProtobufWriter()
    write(inner)
    return this.bytes(field, inner.finish())
  }

  packedZigzags(field: number, values: readonly number[]): this {
    const inner = new ProtobufWriter()
    for (const value of values) inner.#varint(zigzag(value))
    return this.bytes(field, inner.finish())
  }

  packedDoubles(field: number, values: readonly number[]): this {
    const inner = Buffer.alloc(values.length * 8)
    values.forEach((value, index) => {
      inner.writeDoubleLE(value, index * 8)
    })
    return this.bytes(field, inner)
  }

  #tag(field: number, wireType: number): void {
    this.#varint(field * 8 + wireType)
  }

  #varint(value: number | bigint): void {
    this.#reserve(10)
    let rest = BigInt.asUintN(64, BigInt(value))
    while (rest > 0x7fffffffn) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80
      rest >>= 7n
    }
    // The usual small values, and the tail of large ones, without the slowness of bigint.
    let small = Number(rest)
    while (small > 0x7f) {
      this.#bytes[this.#length++] = (small & 0x7f) | 0x80
      small >>>= 7
    }
    this.#bytes[this.#length++] = small
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + count))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}

function zigzag(value: number | bigint): bigint {
  const wide = BigInt(value)
  return BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n))
}
