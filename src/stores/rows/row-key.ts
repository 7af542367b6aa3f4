/**
 * The key of a row describes the pane in it, big-endian:
 *
 *   first bucket 8 bytes | buckets 4 | newest clock 6 | settled 1 | bytes 4
 *
 * Byte order is time order, so that an engine with ordered keys reads an interval by a range scan. The key holds all
 * that is needed to plan a write, to collect and to count: none of these reads a value.
 */
import { endianness } from 'node:os'
import { paneVersion } from '../../core/pane.ts'

export interface RowRef {
  readonly from: number
  readonly to: number
  /** The newest clock in it, in whole milliseconds, rounded up. */
  readonly newest: number
  readonly isSettled: boolean
  readonly bytes: number
}

const rowKeyBytes = 23
const bucketBytes = 8

const layoutVersion = 2

/**
 * Two bytes that belong before every key: rows of another layout, pane version or byte order then have other keys and
 * read as absent.
 */
export function versionBytes(pane: number = paneVersion): Buffer {
  return Buffer.from([layoutVersion, (2 * pane + (endianness() === 'BE' ? 1 : 0)) & 0xff])
}

/** The key of a row, behind the prefix of all rows of its key. */
export function rowKey(prefix: Uint8Array, row: RowRef): Buffer {
  const bytes = Buffer.allocUnsafe(prefix.length + rowKeyBytes)
  bytes.set(prefix)
  let at = writeBucket(bytes, prefix.length, row.from)
  at = bytes.writeUInt32BE(row.to - row.from, at)
  at = bytes.writeUIntBE(Math.min(Math.max(0, row.newest), 2 ** 48 - 1), at, 6)
  at = bytes.writeUInt8(row.isSettled ? 1 : 0, at)
  bytes.writeUInt32BE(row.bytes, at)
  return bytes
}

/** The smallest key that a row beginning at `bucket` or later can have: the bounds of a range scan. */
export function bucketKey(prefix: Uint8Array, bucket: number): Buffer {
  const bytes = Buffer.allocUnsafe(prefix.length + bucketBytes)
  bytes.set(prefix)
  writeBucket(bytes, prefix.length, bucket)
  return bytes
}

/** The content of a row key, with any prefix. */
export function readRowKey(bytes: Buffer): RowRef {
  const at = bytes.length - rowKeyBytes
  const from = (bytes.readUInt32BE(at) - bias) * 2 ** 32 + bytes.readUInt32BE(at + 4)
  return {
    from,
    to: from + bytes.readUInt32BE(at + 8),
    newest: bytes.readUIntBE(at + 12, 6),
    isSettled: bytes.readUInt8(at + 18) === 1,
    bytes: bytes.readUInt32BE(at + 19),
  }
}

/** Added to the upper word: buckets before the grid's origin have negative numbers and must come first. */
const bias = 2 ** 31

/** Returns the offset behind the bucket. */
function writeBucket(bytes: Buffer, at: number, bucket: number): number {
  // The end of an interval may be "always": it is clamped to the range of bucket numbers.
  const safe = Math.min(Math.max(bucket, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
  const high = Math.floor(safe / 2 ** 32)
  bytes.writeUInt32BE(high + bias, at)
  return bytes.writeUInt32BE(safe - high * 2 ** 32, at + 4)
}
