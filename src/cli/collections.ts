/**
 * How the runtime collects garbage, so that it is in nobody's way. It counts buffers as heap: with a heap of 20 MB, most of it
 * code, it would collect all of it after every fourth large answer that comes in, and that was a third of such an answer's
 * processor time (and long turns of the event loop). What it may gather now, twice the heap, is about what the memory limit
 * leaves to it (`spareOf`).
 */
import { readdirSync, readFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { setFlagsFromString } from 'node:v8'

/** In all threads of the process. */
export function tameCollector(): void {
  // Unlike most flags this one is read at every collection.
  setFlagsFromString('--heap-growing-percent=200')
  for (const thread of collectorThreads()) setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL)
}

/**
 * The threads that help collecting. Where there is one core, each of their turns is one that answers wait for (4 ms, several
 * times a second while large answers come in); with a low priority they take what is left over. Only Linux has priorities of
 * threads, and tells their names.
 */
function collectorThreads(): number[] {
  const tasks = '/proc/self/task'
  try {
    return readdirSync(tasks)
      .filter((thread) => readFileSync(`${tasks}/${thread}/comm`, 'utf8') === 'V8Worker\n')
      .map(Number)
  } catch {
    return []
  }
}
