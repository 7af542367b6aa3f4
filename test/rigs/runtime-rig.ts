/** Sockets for tests of `runtime.ts`, which reads their internals. */

export interface WriteQueue {
  writeQueueSize: number
}

/** A socket with one write in progress; `queue` is the number of bytes that are not written yet. */
export const socketWith = (queue: WriteQueue) => ({
  bytesWritten: queue.writeQueueSize,
  writableLength: queue.writeQueueSize,
  destroyed: false,
  _handle: queue,
})
