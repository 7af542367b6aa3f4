/** A random UUID (RFC 9562, version 4) from the given randomness. */
export function newUuid(random: () => number): string {
  const [a, b, c, d] = [word(random), word(random), word(random), word(random)]
  const version = 0x4000 | (b & 0x0fff)
  const variant = 0x8000 | (c & 0x3fff)
  return `${hex(a >>> 16)}${hex(a)}-${hex(b >>> 16)}-${hex(version)}-${hex(variant)}-${hex(c >>> 16)}${hex(d >>> 16)}${hex(d)}`
}

const word = (random: () => number): number => (random() * 2 ** 32) | 0

/** Of the lower 16 bits: looking digits up takes a fraction of the time of printing numbers. */
const hex = (bits: number): string => bytes[(bits >>> 8) & 0xff]! + bytes[bits & 0xff]!

const bytes = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
