/**
 * CRC-32 of bytes that are not looked at again: the checksum of two texts, one after the other, from the checksum of
 * each. Polynomials over GF(2) modulo that of CRC-32, the highest power in the lowest bit, as zlib keeps them.
 */
const polynomial = 0xedb88320 | 0
const one = 0x80000000 | 0

function multiply(a: number, b: number): number {
  let product = 0
  let shifted = b | 0
  for (let left = a | 0; left !== 0; left <<= 1) {
    if (left < 0) product ^= shifted
    shifted = (shifted >>> 1) ^ (polynomial & -(shifted & 1))
  }
  return product
}

/** x^8, x^16, x^32 …: every one is the square of the one before. */
const squares = new Int32Array(32)
squares[0] = 0x00800000
for (let i = 1; i < squares.length; i++) squares[i] = multiply(squares[i - 1]!, squares[i - 1]!)

/** The factor of a checksum when this many bytes follow. */
export function shiftOf(bytes: number): number {
  let shift = one
  for (let left = bytes, i = 0; left > 0; left >>>= 1, i++) {
    if (left & 1) shift = multiply(squares[i]!, shift)
  }
  return shift
}

/** The checksum of a text and the one behind it, whose length `shift` stands for. */
export const joinChecksums = (before: number, behind: number, shift: number): number =>
  (multiply(shift, before) ^ behind) >>> 0
