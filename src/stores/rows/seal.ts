/**
 * A stored value: the payload, then its length and a checksum over key and payload. A value that was truncated, altered
 * or stored under another key fails the check and counts as absent.
 */
import { crc32 } from 'node:zlib'
import { bodyMemory } from '../../core/pane.ts'

/** After the payload, so that a pane's bytes begin at offset 0 of the value. */
const trailerBytes = 8

export function seal(key: Buffer, payload: Uint8Array): Buffer {
  const value = Buffer.allocUnsafeSlow(payload.byteLength + trailerBytes)
  value.set(payload)
  value.writeUInt32LE(payload.byteLength, payload.byteLength)
  value.writeUInt32LE(checksum(key, payload), payload.byteLength + 4)
  return value
}

/** The payload of a sealed value, unchecked; empty where the value is too short to have one. */
export const payloadIn = (view: Buffer): Buffer => view.subarray(0, Math.max(0, view.length - trailerBytes))

/** Whether a value that was read has these bytes. */
export const isSame = (bytes: Buffer, view: Buffer): boolean =>
  bytes.length === view.length && bytes.compare(view, 0, view.length) === 0

/** A copy of `view`, which lies in memory that the engine's next read overwrites. */
export function copied(view: Buffer): Buffer {
  const value = bodyMemory(view.length)
  value.set(view.subarray(0, view.length))
  return value
}

/** A copy of the payload, or undefined where it fails the check. The copy is checked, since the view may change. */
export const unseal = (key: Buffer, view: Buffer): Buffer | undefined => checked(key, copied(view))

/** The payload inside a value that is never overwritten, or undefined where it fails the check. */
export function checked(key: Buffer, value: Buffer): Buffer | undefined {
  const length = value.length - trailerBytes
  if (length < 0 || value.readUInt32LE(length) !== length) return undefined
  const payload = value.subarray(0, length)
  return value.readUInt32LE(length + 4) === checksum(key, payload) ? payload : undefined
}

const checksum = (key: Buffer, payload: Uint8Array): number => crc32(payload, crc32(key))
