/** Divides the limits of the configuration among the threads of the process. */
import { availableParallelism } from 'node:os'
import type { Config } from '../config/schema.ts'
import { spareOf } from '../core/budget.ts'
import type { Limits } from '../proxy/limits.ts'

export const workersOf = ({ workers }: Config): number =>
  workers === 'auto' ? availableParallelism() : workers

/**
 * The share of the reservable memory that the main thread fills with panes: threads find room for answers without
 * waiting for evictions.
 */
const paneShare = 7 / 8

export const paneBytesOf = ({ memoryBytes }: Limits): number =>
  Math.floor((memoryBytes - spareOf(memoryBytes)) * paneShare)

/** The main thread would not keep a longer pane: see the memory store. */
export const maxPaneBytesOf = (limits: Limits): number => paneBytesOf(limits) / 4

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
