/**
 * A bounded memory of what was made from bytes, such as the bodies of requests, which repeat. As Memo, but without a text of
 * them: making one and hashing it takes four times as long as a checksum.
 */
import { crc32 } from 'node:zlib'

export interface BytesMemoBounds {
  readonly maxEntries: number
  readonly maxBytes: number
}

interface Remembered<T> {
  readonly bytes: Buffer
  readonly value: T
}

export class BytesMemo<T> {
  readonly #bounds: BytesMemoBounds
  readonly #make: (bytes: Buffer) => T
  /** By checksum: of two that share one, the later is remembered. */
  #young = new Map<number, Remembered<T>>()
  #old = this.#young
  #bytes = 0

  constructor(bounds: BytesMemoBounds, make: (bytes: Buffer) => T) {
    this.#bounds = bounds
    this.#make = make
  }

  get(bytes: Buffer): T {
    const checksum = crc32(bytes)
    const known = this.#young.get(checksum)
    return known?.bytes.equals(bytes) === true ? known.value : this.#remember(checksum, bytes)
  }

  #remember(checksum: number, bytes: Buffer): T {
    const known = this.#old.get(checksum)
    // A copy: the bytes of a request lie in more memory than their own.
    const entry =
      known?.bytes.equals(bytes) === true
        ? known
        : { bytes: Buffer.copyBytesFrom(bytes), value: this.#make(bytes) }
    const { maxEntries, maxBytes } = this.#bounds
    if (this.#young.size >= maxEntries / 2 || this.#bytes + bytes.length > maxBytes / 2) {
      this.#old = this.#young
      this.#young = new Map()
      this.#bytes = 0
    }
    this.#bytes += bytes.length
    this.#young.set(checksum, entry)
    return entry.value
  }
}
