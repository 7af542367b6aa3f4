/** What tests need of sockets whose internals `runtime.ts` reads. */

export interface WriteQueue {
  writeQueueSize: number
}

/** A socket with one write under way, of which `queue` says how much is left. */
export const socketWith = (queue: WriteQueue) => ({
  bytesWritten: queue.writeQueueSize,
  writableLength: queue.writeQueueSize,
  destroyed: false,
  _handle: queue,
})
