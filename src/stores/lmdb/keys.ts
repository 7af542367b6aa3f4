/**
 * Keys in the file: version 2 bytes | key | 0, which is the key of the record; rows have a row key behind it
 * (rows/row-key.ts). Another version of the layout, of the pane or of the byte order has other keys and is absent.
 */
import type { Key } from '../../core/key.ts'
import { bucketKey, type RowRef, rowKey } from '../rows/row-key.ts'

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

  /** The key of a key's record, and the prefix of all its rows. */
  record(key: Key): Buffer {
    return Buffer.concat([this.#version, Buffer.from(key), zero])
  }

  row(key: Key, row: RowRef): Buffer {
    return rowKey(this.record(key), row)
  }

  /** The smallest key that a row beginning at `bucket` or later can have. */
  rowFrom(key: Key, bucket: number): Buffer {
    return bucketKey(this.record(key), bucket)
  }

  /** Behind the last row of a key. */
  rowsEnd(key: Key): Buffer {
    return endOfPrefix(this.record(key))
  }

  /** All records of this version. */
  recordRange(): { start: Buffer; end: Buffer } {
    return { start: this.#version, end: Buffer.concat([this.#version, Buffer.from([0xff])]) }
  }

  keyOfRecord(bytes: Buffer): Key {
    return bytes.toString('utf8', this.#version.length, bytes.length - 1)
  }

  /** Index of use: the minute of last use, then the record's key, whatever its version: the oldest is evicted first. */
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
