/** Byte order of ranks, and bytes that hold no more memory than they need. */

export const noBytes: Buffer = Buffer.alloc(0)

/** The same memory as a buffer. */
export const bufferOf = (bytes: Uint8Array): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

export interface ByteRange {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

/** From here on the runtime's comparison is quicker than a loop, its call included (measured). */
const long = 160

/** Negative, zero or positive, as `a` comes before, equals or comes after `b`. */
export function compareBytes(a: ByteRange, b: ByteRange): number {
  const length = Math.min(a.end - a.start, b.end - b.start)
  if (length > long) return a.bytes.compare(b.bytes, b.start, b.end, a.start, a.end)
  const aBytes = a.bytes
  const bBytes = b.bytes
  const end = a.start + length
  let i = a.start
  let j = b.start
  while (i < end && aBytes[i] === bBytes[j]) {
    i++
    j++
  }
  return i < end ? aBytes[i]! - bBytes[j]! : a.end - a.start - (b.end - b.start)
}

/** The bytes of an answer that writes itself, in memory of their own. */
export function bytesOf(answer: { readonly length: number; write(target: Uint8Array): void }): Buffer {
  const bytes = Buffer.allocUnsafeSlow(answer.length)
  answer.write(bytes)
  return bytes
}

/**
 * A copy that owns its memory: short buffers are parts of a pool, and a compressor returns parts of its output buffer.
 */
export function ownMemory(bytes: Uint8Array): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length)
  own.set(bytes)
  return own
}
