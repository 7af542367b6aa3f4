/**
 * How often the runtime collects garbage. It counts buffers as heap: with a heap of 20 MB, most of it code, it would collect all
 * of it after every fourth large answer that comes in, and that was a third of such an answer's processor time (and long turns
 * of the event loop). What it may gather now, twice the heap, is about what the memory limit leaves to it (`spareOf`).
 */
import { setFlagsFromString } from 'node:v8'

/** In all threads of the process. Unlike most flags this one is read at every collection. */
export function collectLessOften(): void {
  setFlagsFromString('--heap-growing-percent=200')
}
