/**
 * Pooled buffers for answers: allocating, not copying, is the expense. A buffer goes back only when the socket has
 * taken its bytes; giving it back earlier would send the next answer's bytes to this client.
 */

const smallest = 14
const largest = 23
/** Of all that are free. */
const maxFreeBytes = 32 * 1024 * 1024

export class ScratchPool {
  readonly #free: Buffer[][] = Array.from({ length: largest + 1 }, () => [])
  #freeBytes = 0

  /** A buffer of at least `length` bytes, of unknown content. */
  take(length: number): Buffer {
    const size = classOf(length)
    if (size > largest) return Buffer.allocUnsafeSlow(length)
    const free = this.#free[size]!.pop()
    if (free === undefined) return Buffer.allocUnsafeSlow(2 ** size)
    this.#freeBytes -= free.length
    return free
  }

  give(buffer: Buffer): void {
    const size = classOf(buffer.length)
    if (size > largest || this.#freeBytes + buffer.length > maxFreeBytes) return
    this.#freeBytes += buffer.length
    this.#free[size]!.push(buffer)
  }
}

const classOf = (length: number): number => Math.max(smallest, 32 - Math.clz32(Math.max(1, length) - 1))
