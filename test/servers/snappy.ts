/** Snappy's block format, without compressing: the length, then literals. Every reader accepts it. */

const LITERAL_MAX = 65536
/** A literal whose length minus one follows in two bytes. */
const LITERAL_TAG = 61 << 2

export function snappyBlock(data: Uint8Array): Buffer {
  const parts: Uint8Array[] = [lengthPreamble(data.length)]
  for (let at = 0; at < data.length; at += LITERAL_MAX) {
    const literal = data.subarray(at, at + LITERAL_MAX)
    const last = literal.length - 1
    parts.push(Uint8Array.of(LITERAL_TAG, last & 0xff, last >> 8), literal)
  }
  return Buffer.concat(parts)
}

function lengthPreamble(length: number): Uint8Array {
  const bytes: number[] = []
  let rest = length
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  return Uint8Array.of(...bytes, rest)
}
