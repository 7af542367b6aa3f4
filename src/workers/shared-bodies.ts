/**
 * Bodies in memory that all threads share. The runtime does not count shared memory when it decides to collect:
 * unreachable bodies would be held for as long as little else is allocated (measured: 1.3 GB for 100 MB in use). So
 * they are counted here, and a collection is triggered now and then.
 */
import { largeLimit } from '../core/budget.ts'
import { takeBodiesFrom } from '../core/pane.ts'
import { bufferCollector, garbageCollector, type RuntimeSwitches } from '../core/runtime.ts'
import { sharedMemory } from './shared-pane.ts'

/** The garbage that a thread may hold beyond the memory in use: a small limit has little room for it. */
const mostGarbage = (limitBytes: number): number =>
  Math.max(leastBytes, limitBytes / (limitBytes < largeLimit ? 16 : 8))
const leastBytes = 8 * 1024 * 1024

/** From now on this thread makes bodies in shared memory. Returns the callback for bodies that other threads made. */
export function shareBodies(limitBytes: number, collect: () => void): (bytes: number) => void {
  const most = mostGarbage(limitBytes)
  let sinceCollection = 0
  const count = (bytes: number) => {
    sinceCollection += bytes
    if (sinceCollection < most) return
    sinceCollection = 0
    collect()
  }
  takeBodiesFrom((length) => {
    count(length)
    return sharedMemory(length)
  })
  return count
}

/**
 * Collects at once where the limit is small, else in the background: a busy thread would gather more until that begins.
 * Without the switch it does nothing.
 */
export function collectorOf(limitBytes: number, { gcOnDemand }: RuntimeSwitches): () => void {
  if (!gcOnDemand) return () => {}
  if (limitBytes < largeLimit) return bufferCollector()
  const collect = garbageCollector()
  return () => void collect({ type: 'major', execution: 'async' })
}
