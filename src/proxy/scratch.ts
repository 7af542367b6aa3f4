/**
 * Pooled buffers for answers: allocating, not copying, is the expense. A buffer goes back only when the socket has
 * taken its bytes; giving it back earlier would send the next answer's bytes to this client.
 */

const smallest = 14
const largest = 23
const perClass = 4

export class ScratchPool {
  readonly #free: Buffer[][] = Array.from({ length: largest + 1 }, () => [])

  /** A buffer of at least `length` bytes, of unknown content. */
  take(length: number): Buffer {
    const size = classOf(length)
    if (size > largest) return Buffer.allocUnsafeSlow(length)
    return this.#free[size]!.pop() ?? Buffer.allocUnsafeSlow(2 ** size)
  }

  give(buffer: Buffer): void {
    const size = classOf(buffer.length)
    if (size <= largest && this.#free[size]!.length < perClass) this.#free[size]!.push(buffer)
  }
}

const classOf = (length: number): number => Math.max(smallest, Math.ceil(Math.log2(Math.max(1, length))))
