/**
 * Finding ends in JSON text without parsing it. Texts that are still arriving have a zero byte behind their last one,
 * which stops every loop, as does the end of the memory: where one of them is met, the bytes in hand end first.
 */
import type { EpochMs } from '../../core/clock.ts'

/** The bytes in hand end first. */
export const incomplete = -1
/** There is a control character in a string, which is not JSON. */
export const malformed = -2

/** The position behind the array or object that begins at `start`, or why there is none. */
export function endOfValue(bytes: Uint8Array, start: number): number {
  let depth = 0
  let at = start
  for (;;) {
    const byte = bytes[at++]!
    if (!byte) return incomplete
    if (byte === 0x5b || byte === 0x7b) depth++
    else if ((byte === 0x5d || byte === 0x7d) && --depth === 0) return at
    else if (byte === 0x22) {
      at = endOfString(bytes, at)
      if (at < 0) return at
    }
  }
}

function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start; ; at++) {
    const byte = bytes[at]!
    if (byte === 0x22) return at + 1
    // JSON does not allow an escaped control character either.
    if (byte === 0x5c && bytes[at + 1]! >= 0x20) at++
    else if (!(byte >= 0x20)) return byte ? malformed : incomplete
  }
}

/** `1435781451` or `1435781451.100`, in milliseconds; NaN for anything else. */
export function readInstant(bytes: Buffer, start: number): EpochMs {
  const text = bytes.toString('latin1', start, bytes.indexOf(0x2c, start))
  return /^\d+(?:\.\d{3})?$/.test(text) ? Math.round(Number(text) * 1000) : Number.NaN
}
