/**
 * Settings of the runtime's garbage collection, so that it does not delay requests. V8 counts buffers too, and collects
 * everything once 64 MiB of them have come: with large answers coming in that was seven times a second, 15 ms each, and
 * a third of such an answer's processor time. The memory limit decides how much may be gathered instead.
 */
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { largeLimit, spareOf } from '../core/budget.ts'
import { countBuffersAsHeap, hasKnownHeapFlags, saveMemory, setHeapGrowth } from '../core/runtime.ts'

/** Several threads that share the panes collect by themselves: see core/garbage.ts. */
export function tuneGarbageCollection(memoryBytes: number, hasWorkers: boolean): void {
  const isKnown = hasKnownHeapFlags()
  if (isKnown && !hasWorkers && isRoomy(memoryBytes)) collectAfter(spareOf(memoryBytes))
  else setHeapGrowth(200)
  if (isKnown && memoryBytes < largeLimit) saveMemory()
}

/**
 * The engine goes on for a while before it has collected: that needs more room than a small limit has. Nor may all buffers
 * together come near the largest heap that it allows itself.
 */
const isRoomy = (memoryBytes: number): boolean =>
  memoryBytes >= leastBytes && memoryBytes <= getHeapStatistics().heap_size_limit

const leastBytes = 2 * 1024 * 1024 * 1024

/**
 * Collects after this many bytes since the last time, used or not. V8 only knows shares of the memory in use: the share
 * is set anew after each collection, for the next one.
 */
function collectAfter(bytes: number): void {
  const allow = () => {
    const { used_heap_size: heap, external_memory: buffers } = getHeapStatistics()
    const percent = Math.max(leastPercent, Math.round((100 * bytes) / (heap + buffers)))
    setHeapGrowth(percent)
  }
  allow()
  countBuffersAsHeap()
  new PerformanceObserver((list) => {
    if (list.getEntries().some(isThorough)) allow()
  }).observe({ entryTypes: ['gc'] })
}

const leastPercent = 5

const isThorough = (entry: PerformanceEntry): boolean =>
  (entry as { readonly detail?: { readonly kind?: number } }).detail?.kind ===
  constants.NODE_PERFORMANCE_GC_MAJOR
