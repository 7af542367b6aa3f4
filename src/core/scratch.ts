/**
 * Pooled buffers: allocation, not copying, is expensive, and dropped buffers stay in memory until they are collected. A
 * buffer returns to the pool only after its last read (an answer: when the socket has accepted its bytes); returning it
 * earlier would send the next answer's bytes to this client.
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

  /** `maxFreeBytes`: the most that may be unused. `onNew` is called for each buffer that is allocated. */
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

/** Buffers for responses that arrive from databases: each response needs some until it is complete. */
export const ingestScratch = new ScratchPool(16 * MiB)

export const noWords = new Uint32Array(0)

/** A buffer of a pool as 32-bit words. */
export const wordsOf = (bytes: Buffer): Uint32Array<ArrayBuffer> =>
  new Uint32Array(bytes.buffer as ArrayBuffer, 0, bytes.length >>> 2)

const classOf = (length: number): number => Math.max(smallest, 32 - Math.clz32(Math.max(1, length) - 1))

/** Bytes in memory that is free again after `release`. */
export interface Written {
  readonly bytes: Uint8Array
  readonly release: () => void
}

/**
 * The bytes that `write` writes into `room` bytes; it returns how many it wrote. Undefined without room in the budget,
 * or where nothing was written.
 */
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
  let length = 0
  try {
    length = write(buffer.subarray(0, room))
  } finally {
    if (length === 0) release()
  }
  return length > 0 ? { bytes: buffer.subarray(0, length), release } : undefined
}
