/**
 * Keys in the file. Rows of panes:
 *
 *   version 2 bytes | key | 0 | first bucket 8 | buckets 4 | newest clock 6 | settled 1 | bytes 4      (big-endian)
 *
 * Byte order is time order within a key. What is needed to plan a write, to collect and to count stands in the key, so
 * that none of it reads a value. Another version of the layout, of the pane or of the byte order has other keys: absent.
 */
import { endianness } from 'node:os'
import type { Key } from '../../core/key.ts'
import { paneVersion } from '../../core/pane.ts'

const layoutVersion = 2

/** What stands before every key; tests pass another pane version. */
export function versionBytes(pane: number = paneVersion): Buffer {
  return Buffer.from([layoutVersion, (2 * pane + (endianness() === 'BE' ? 1 : 0)) & 0xff])
}

/** A row: what its key says about the pane in it. */
export interface RowRef {
  readonly from: number
  readonly to: number
  /** The newest clock in it, in whole milliseconds, rounded up. */
  readonly newest: number
  readonly isSettled: boolean
  readonly bytes: number
}

const suffixBytes = 23
/** Longer keys do not fit into LMDB's; Windowpane's own have 43 characters. */
const maxKeyBytes = 200

export class Keys {
  readonly #version: Buffer

  constructor(version: Buffer) {
    this.#version = version
  }

  isUsable(key: Key): boolean {
    return key.length > 0 && Buffer.byteLength(key) <= maxKeyBytes && !key.includes('\0')
  }

  /** The key of a key's record, and what all its rows begin with. */
  record(key: Key): Buffer {
    return Buffer.concat([this.#version, Buffer.from(key), zero])
  }

  row(key: Key, row: RowRef): Buffer {
    const prefix = this.record(key)
    const bytes = Buffer.allocUnsafe(prefix.length + suffixBytes)
    prefix.copy(bytes)
    let at = writeBucket(bytes, prefix.length, row.from)
    at = bytes.writeUInt32BE(row.to - row.from, at)
    at = bytes.writeUIntBE(Math.min(Math.max(0, row.newest), 2 ** 48 - 1), at, 6)
    at = bytes.writeUInt8(row.isSettled ? 1 : 0, at)
    bytes.writeUInt32BE(row.bytes, at)
    return bytes
  }

  /** The smallest key that a row beginning at `bucket` or later can have. */
  rowFrom(key: Key, bucket: number): Buffer {
    const prefix = this.record(key)
    const bytes = Buffer.allocUnsafe(prefix.length + 8)
    prefix.copy(bytes)
    writeBucket(bytes, prefix.length, bucket)
    return bytes
  }

  /** Behind the last row of a key. */
  rowsEnd(key: Key): Buffer {
    const end = this.record(key)
    end[end.length - 1] = 1
    return end
  }

  /** All records of this version. */
  recordRange(): { start: Buffer; end: Buffer } {
    return { start: this.#version, end: Buffer.concat([this.#version, Buffer.from([0xff])]) }
  }

  keyOfRecord(bytes: Buffer): Key {
    return bytes.toString('utf8', this.#version.length, bytes.length - 1)
  }

  /** Use index: minute of last use, then the record's key, whatever its version: the oldest leaves first. */
  use(minute: number, record: Buffer): Buffer {
    const bytes = Buffer.allocUnsafe(4 + record.length)
    bytes.writeUInt32BE(minute, 0)
    record.copy(bytes, 4)
    return bytes
  }
}

const zero = Buffer.from([0])

export const minuteOfUse = (use: Buffer): number => use.readUInt32BE(0)
export const recordOfUse = (use: Buffer): Buffer => use.subarray(4)

/** Behind everything that begins with `prefix` and NUL. */
export function endOfPrefix(record: Buffer): Buffer {
  const end = Buffer.from(record)
  end[end.length - 1] = 1
  return end
}

export function rowOf(bytes: Buffer): RowRef {
  const at = bytes.length - suffixBytes
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

function writeBucket(bytes: Buffer, at: number, bucket: number): number {
  // Interval ends may be "always": what no bucket number reaches is clamped.
  const safe = Math.min(Math.max(bucket, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
  const high = Math.floor(safe / 2 ** 32)
  bytes.writeUInt32BE(high + bias, at)
  return bytes.writeUInt32BE(safe - high * 2 ** 32, at + 4)
}
