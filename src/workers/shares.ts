/** Divides the limits of the configuration among the threads of the process. */
import { availableParallelism } from 'node:os'
import type { ResourceLimits } from 'node:worker_threads'
import type { Config } from '../config/schema.ts'
import { largeLimit, spareOf } from '../core/budget.ts'
import type { Limits } from '../proxy/limits.ts'

export const workersOf = ({ workers }: Config): number =>
  workers === 'auto' ? availableParallelism() : workers

/**
 * The share of the reservable memory that the main thread fills with panes: threads find room for answers without
 * waiting for evictions.
 */
const paneShare = 7 / 8

export const paneBytesOf = (limits: Limits, workers: number): number =>
  Math.floor((limits.memoryBytes - spareWith(limits, workers)) * paneShare)

/** The main thread would not keep a longer pane: see the memory store. */
export const maxPaneBytesOf = (limits: Limits, workers: number): number => paneBytesOf(limits, workers) / 4

/** The part of each worker's heap that `limits.memory` covers. */
const heapBytes = 20 * 1024 * 1024

/** Of a small `limits.memory`, for the heaps of all workers together. */
const heapShare = 0.3

/**
 * Memory that cannot be reserved: garbage that is not collected yet, and heaps of workers, as long as enough is left
 * for the cache.
 */
export const spareWith = ({ memoryBytes }: Limits, workers: number): number =>
  spareOf(memoryBytes) + Math.min(workers * heapBytes, Math.floor(heapShare * memoryBytes))

/** V8's own young generation of 64 MB in every thread would be more than a small `limits.memory`. */
export const heapOfOne = ({ memoryBytes }: Limits): ResourceLimits => ({
  maxYoungGenerationSizeMb: memoryBytes < largeLimit ? 6 : 12,
})

/** Connections and requests are spread evenly by the system: each thread has its part. */
export const limitsOfOne = (limits: Limits, workers: number): Limits => {
  const part = (number: number) => Math.ceil(number / workers)
  return {
    ...limits,
    maxRequests: part(limits.maxRequests),
    maxConnections: part(limits.maxConnections),
    maxConnectionsPerAddress: part(limits.maxConnectionsPerAddress),
    maxIncompletePerAddress: part(limits.maxIncompletePerAddress),
    upstreamConnections: part(limits.upstreamConnections),
  }
}
