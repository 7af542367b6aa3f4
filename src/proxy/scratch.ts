/**
 * Pooled buffers for answers: allocating, not copying, is the expense. A buffer goes back only when the socket has
 * taken its bytes; giving it back earlier would send the next answer's bytes to this client.
 */
import type { Budget } from '../core/budget.ts'

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

/** Bytes in memory that is free again after `release`. */
export interface Written {
  readonly bytes: Uint8Array
  readonly release: () => void
}

/** What `write` writes into `room` bytes; it returns how many it wrote. None without room in the budget, or of nothing. */
export function writeOut(
  { budget, scratch }: { readonly budget: Budget; readonly scratch: ScratchPool },
  room: number,
  write: (target: Uint8Array) => number,
): Written | undefined {
  if (!budget.reserve(room)) return undefined
  const buffer = scratch.take(room)
  const release = () => {
    scratch.give(buffer)
    budget.release(room)
  }
  const length = write(buffer.subarray(0, room))
  if (length > 0) return { bytes: buffer.subarray(0, length), release }
  release()
  return undefined
}
