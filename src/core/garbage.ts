/**
 * Buffers that nobody holds any more stay until V8 collects, and V8 lets 64 MiB of them come before it does, however small the
 * memory limit is. This asks for a collection earlier.
 */

export interface GarbageOptions {
  /** How much garbage may lie about. */
  readonly maxBytes: number
  /** What buffers take now, garbage included. */
  readonly bufferBytes: () => number
  /** Collects before it returns: whatever came until a collection in the background began would come on top. */
  readonly collect: () => void
}

export class GarbageWatch {
  readonly #options: GarbageOptions
  /** What buffers took after the last collection, or less where they have taken less since. */
  #left: number
  #sinceLook = 0

  constructor(options: GarbageOptions) {
    this.#options = options
    this.#left = options.bufferBytes()
  }

  /** Counts buffers that have come. Looks at what they take only now and then: that costs a microsecond. */
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
