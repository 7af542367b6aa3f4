/**
 * Bounded memoisation of values derived from texts or from bytes, because requests repeat and deriving is slow. Two
 * generations, and hits write nothing: a full young generation becomes the old one, and the old one is dropped.
 */
import { crc32 } from 'node:zlib'

export interface MemoBounds {
  readonly maxTexts: number
  readonly maxCharacters: number
}

export class Memo<T> {
  readonly #entries: TwoGenerations<string, T>
  readonly #make: (text: string) => T

  constructor({ maxTexts, maxCharacters }: MemoBounds, make: (text: string) => T) {
    this.#entries = new TwoGenerations(maxTexts, maxCharacters)
    this.#make = make
  }

  get(text: string): T {
    const known = this.#entries.young(text)
    return known === undefined ? this.#remember(copyOf(text)) : known
  }

  #remember(text: string): T {
    const value = this.#entries.old(text) ?? this.#make(text)
    this.#entries.add(text, value, text.length)
    return value
  }
}

/** A string cut out of a request keeps the whole request in memory; a copy does not. */
export const copyOf = (text: string): string => Buffer.from(text).toString()

export interface BytesMemoBounds {
  readonly maxEntries: number
  readonly maxBytes: number
}

interface Remembered<T> {
  readonly bytes: Buffer
  readonly value: T
}

/** Remembers by bytes, without a text of them: making one and hashing it takes four times as long as a checksum. */
export class BytesMemo<T> {
  /** By checksum: of two that share one, the later is remembered. */
  readonly #entries: TwoGenerations<number, Remembered<T>>
  readonly #make: (bytes: Buffer) => T

  constructor({ maxEntries, maxBytes }: BytesMemoBounds, make: (bytes: Buffer) => T) {
    this.#entries = new TwoGenerations(maxEntries, maxBytes)
    this.#make = make
  }

  get(bytes: Buffer): T {
    const checksum = crc32(bytes)
    const known = this.#entries.young(checksum)
    return known?.bytes.equals(bytes) === true ? known.value : this.#remember(checksum, bytes)
  }

  #remember(checksum: number, bytes: Buffer): T {
    const known = this.#entries.old(checksum)
    // A copy: the bytes of a request lie in more memory than their own.
    const entry =
      known?.bytes.equals(bytes) === true
        ? known
        : { bytes: Buffer.copyBytesFrom(bytes), value: this.#make(bytes) }
    this.#entries.add(checksum, entry, bytes.length)
    return entry.value
  }
}

/** Half of the bounds is for the young generation, half for the old one. */
export class TwoGenerations<K, E> {
  readonly #maxEntries: number
  readonly #maxSize: number
  #young = new Map<K, E>()
  #old = this.#young
  #size = 0

  constructor(maxEntries: number, maxSize: number) {
    this.#maxEntries = maxEntries / 2
    this.#maxSize = maxSize / 2
  }

  young(key: K): E | undefined {
    return this.#young.get(key)
  }

  old(key: K): E | undefined {
    return this.#old.get(key)
  }

  add(key: K, entry: E, size: number): void {
    if (this.#young.size >= this.#maxEntries || this.#size + size > this.#maxSize) {
      this.#old = this.#young
      this.#young = new Map()
      this.#size = 0
    }
    this.#size += size
    this.#young.set(key, entry)
  }
}
