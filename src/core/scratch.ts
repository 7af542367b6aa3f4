/**
 * Pooled buffers: allocating, not copying, is the expense, and what is thrown away stays in memory until it is
 * collected. A buffer goes back only when nobody reads it any more (an answer: when the socket has taken its bytes);
 * giving it back earlier would send the next answer's bytes to this client.
 */

import type { Budget } from './budget.ts'

const smallest = 12
const largest = 23
const MiB = 1024 * 1024

export class ScratchPool {
  readonly #free: Buffer[][] = Array.from({ length: largest + 1 }, () => [])
  #maxFreeBytes: number
  #onNew: ((bytes: number) => void) | undefined
  #freeBytes = 0

  /** `maxFreeBytes`: what lies unused at most. `onNew` is called for each buffer that is allocated. */
  constructor(maxFreeBytes = 32 * MiB, onNew?: (bytes: number) => void) {
    this.#maxFreeBytes = maxFreeBytes
    this.#onNew = onNew
  }

  /** As the constructor, for a pool that exists. */
  configure(maxFreeBytes: number, onNew?: (bytes: number) => void): void {
    this.#maxFreeBytes = maxFreeBytes
    this.#onNew = onNew
  }

  /** How long a buffer for `length` bytes is. */
  sizeFor(length: number): number {
    const size = classOf(length)
    return size > largest ? length : 2 ** size
  }

  /** A buffer of at least `length` bytes, from the beginning of its memory, of unknown content. */
  acquire(length: number): Buffer {
    const size = classOf(length)
    const free = size > largest ? undefined : this.#free[size]!.pop()
    if (free === undefined) return this.#allocate(this.sizeFor(length))
    this.#freeBytes -= free.length
    return free
  }

  #allocate(bytes: number): Buffer {
    this.#onNew?.(bytes)
    return Buffer.allocUnsafeSlow(bytes)
  }

  release(buffer: Buffer): void {
    const size = classOf(buffer.length)
    if (size > largest || this.#freeBytes + buffer.length > this.#maxFreeBytes) return
    this.#free[size]!.push(buffer)
    this.#freeBytes += buffer.length
  }

  /** A longer buffer with the same bytes at its beginning; the old one goes back. */
  grow(buffer: Buffer, used: number, atLeast: number): Buffer {
    const larger = this.acquire(Math.max(2 * buffer.length, atLeast))
    buffer.copy(larger, 0, 0, used)
    this.release(buffer)
    return larger
  }
}

/** What is being taken in from databases: every answer needs some of it for as long as it arrives. */
export const ingestScratch = new ScratchPool(16 * MiB)

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
  const size = scratch.sizeFor(room)
  if (!budget.reserve(size)) return undefined
  const buffer = scratch.acquire(room)
  const release = () => {
    scratch.release(buffer)
    budget.release(size)
  }
  const length = write(buffer.subarray(0, room))
  if (length > 0) return { bytes: buffer.subarray(0, length), release }
  release()
  return undefined
}
