/**
 * V8 collects unreachable buffers only after 64 MiB of new ones, however small the memory limit is, and does not count
 * memory that threads share at all: unreachable bodies would be held for as long as little else is allocated (measured:
 * 1.3 GB for 100 MB in use). So both are counted here, and a collection is triggered earlier.
 */
import { getHeapStatistics } from 'node:v8'
import { largeLimit, spareOf } from './budget.ts'
import { bufferCollector, garbageCollector, type RuntimeSwitches } from './runtime.ts'

export interface GarbageOptions {
  /** How much garbage may lie about. */
  readonly maxBytes: number
  /** The bytes of all buffers, garbage included, without shared memory. */
  readonly bufferBytes: () => number
  readonly collect: () => void
}

export class GarbageWatch {
  readonly #options: GarbageOptions
  /** The bytes of all buffers after the last collection, or the lowest value seen since. */
  #left: number
  /** The bytes of shared memory that this thread has got since the last collection. */
  #shared = 0
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
    if (held - this.#left + this.#shared < maxBytes) return
    collect()
    this.#left = bufferBytes()
    this.#shared = 0
  }

  /** Counts memory that this thread made or got, and other threads share. As much of it is taken to be unused by now. */
  countShared(bytes: number): void {
    this.#shared += bytes
    this.count(bytes)
  }
}

const MiB = 1024 * 1024

/**
 * The watch of one of the threads that share a memory limit; undefined where V8's own collections are enough. Small
 * limits have no room for garbage that comes until a collection in the background begins.
 */
export function garbageWatchOf(
  limitBytes: number,
  threads: number,
  { gcOnDemand }: RuntimeSwitches,
): GarbageWatch | undefined {
  if (!gcOnDemand) return undefined
  if (limitBytes < largeLimit) {
    return new GarbageWatch({
      maxBytes: threads === 1 ? spareOf(limitBytes) / 4 : 8 * MiB,
      bufferBytes: () => getHeapStatistics().external_memory,
      collect: bufferCollector(),
    })
  }
  if (threads === 1) return undefined
  const collect = garbageCollector()
  return new GarbageWatch({
    maxBytes: limitBytes / 8,
    // V8 collects these in time by itself.
    bufferBytes: () => 0,
    collect: () => void collect({ type: 'major', execution: 'async' }),
  })
}
