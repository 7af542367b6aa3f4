/**
 * A value as it lies in the file: the payload, then its length and a checksum over key and payload. A value that was
 * torn, flipped or that a damaged tree shows under another key does not open: it is absent.
 */
import { crc32 } from 'node:zlib'
import { bodyMemory } from '../../core/pane.ts'

/** Behind the payload, so that a pane's bytes begin at offset 0 of what is read. */
const trailerBytes = 8

export function seal(key: Buffer, payload: Uint8Array): Buffer {
  const value = Buffer.allocUnsafeSlow(payload.byteLength + trailerBytes)
  value.set(payload)
  value.writeUInt32LE(payload.byteLength, payload.byteLength)
  value.writeUInt32LE(checksum(key, payload), payload.byteLength + 4)
  return value
}

/** Where the payload lies in what was read, unchecked; empty where that is too short to have one. */
export const payloadIn = (view: Buffer): Buffer => view.subarray(0, Math.max(0, view.length - trailerBytes))

/** Whether what was read has these bytes. */
export const isSame = (bytes: Buffer, view: Buffer): boolean =>
  bytes.length === view.length && bytes.compare(view, 0, view.length) === 0

/** What was read, in memory of its own: `view` lies in memory that the next read overwrites. */
export function copied(view: Buffer): Buffer {
  const value = bodyMemory(view.length)
  value.set(view.subarray(0, view.length))
  return value
}

/** The payload in memory of its own. It is copied first, and what was copied is what is checked. */
export const unseal = (key: Buffer, view: Buffer): Buffer | undefined => checked(key, copied(view))

/** The payload where it lies, in a value that nobody overwrites. */
export function checked(key: Buffer, value: Buffer): Buffer | undefined {
  const length = value.length - trailerBytes
  if (length < 0 || value.readUInt32LE(length) !== length) return undefined
  const payload = value.subarray(0, length)
  return value.readUInt32LE(length + 4) === checksum(key, payload) ? payload : undefined
}

const checksum = (key: Buffer, payload: Uint8Array): number => crc32(payload, crc32(key))
