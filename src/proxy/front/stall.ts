/** Clients that take their answer too slowly, or not at all: one whose bytes wait in the socket is given up. */
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../core/clock.ts'
import { type RuntimeSwitches, writeQueueOf } from '../../core/runtime.ts'
import type { Reply } from './exchange.ts'

export interface StallOptions {
  readonly clock: Clock
  /** A client that takes nothing for this long, or less than the minimum rate over this long, is cut off. */
  readonly writeTimeoutMs: number
  /** Bytes per second. */
  readonly minRateBytes: number
  readonly runtime: RuntimeSwitches
  /** Called for every client that is cut off. */
  readonly onSlowReader?: (() => void) | undefined
}

export class StallWatch {
  readonly #reply: Reply
  readonly #options: StallOptions
  #timer: Timer | undefined
  #isWatched = false

  constructor(reply: Reply, options: StallOptions) {
    this.#reply = reply
    this.#options = options
  }

  /**
   * Only where bytes are waiting: an answer that fits into the socket's buffer needs no timer. One that waits behind others has no
   * socket before its turn.
   */
  watch(): void {
    const { socket } = this.#reply
    if (this.#timer !== undefined || socket?.writableLength === 0 || this.#reply.closed) return
    if (!this.#isWatched) this.#reply.once('close', () => this.#timer?.cancel())
    this.#isWatched = true
    const { clock, writeTimeoutMs, minRateBytes, runtime } = this.#options
    const before = socket && progressOf(socket, runtime)
    const least = Math.max(1, (minRateBytes * writeTimeoutMs) / 1000)
    this.#timer = clock.after(writeTimeoutMs, () => {
      this.#timer = undefined
      if (socket?.destroyed || socket?.writableLength === 0) return
      if (before === null || takenBetween(before, progressOf(socket!, runtime)) >= least) {
        this.watch()
        return
      }
      this.#options.onSlowReader?.()
      this.#reply.destroy()
    })
  }
}

/**
 * Node counts only completed writes, and many megabytes can be one write: how much of it is left is known to the socket's write
 * queue alone.
 */
interface Progress {
  readonly completed: number
  readonly queued: number
}

const progressOf = (socket: Socket, { writeQueue }: RuntimeSwitches): Progress => ({
  completed: socket.bytesWritten - socket.writableLength,
  queued: writeQueue ? (writeQueueOf(socket) ?? 0) : 0,
})

/** While no write was completed, it is the same one that is in the queue. */
function takenBetween(before: Progress, after: Progress): number {
  const completed = after.completed - before.completed
  return completed > 0 ? completed : before.queued - after.queued
}
