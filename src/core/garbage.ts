/**
 * V8 collects unreachable buffers only after 64 MiB of new ones, however small the memory limit is. This class triggers
 * a collection earlier.
 */

export interface GarbageOptions {
  /** How much garbage may lie about. */
  readonly maxBytes: number
  /** The bytes of all buffers, garbage included. */
  readonly bufferBytes: () => number
  /** Collects before it returns: whatever came until a collection in the background began would come on top. */
  readonly collect: () => void
}

export class GarbageWatch {
  readonly #options: GarbageOptions
  /** The bytes of all buffers after the last collection, or the lowest value seen since. */
  #left: number
  #sinceLook = 0

  constructor(options: GarbageOptions) {
    this.#options = options
    this.#left = options.bufferBytes()
  }

  /** Counts new buffers. Reads their actual size only now and then: reading costs a microsecond. */
  count(bytes: number): void {
    const { maxBytes, bufferBytes, collect } = this.#options
    this.#sinceLook += bytes
    if (this.#sinceLook < maxBytes / 8) return
    this.#sinceLook = 0
    const held = bufferBytes()
    this.#left = Math.min(this.#left, held)
    if (held - this.#left < maxBytes) return
    collect()
    this.#left = bufferBytes()
  }
}
